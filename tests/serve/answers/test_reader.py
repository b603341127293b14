"""An answer's text in pieces of any size to what is said, thought and called."""

from __future__ import annotations

import pytest
from examples import ARGUMENTS, BY_NAME, TWO_CALLS
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.answers.formats import THOUGHTS
from gridstride.serve.answers.reader import AnswerReader, ArgumentsDelta, CallBegun, Content, Event, Reasoning

NAMES = sorted(TWO_CALLS)


def read(reader: AnswerReader, *pieces: str) -> list[Event]:
    return [*(event for piece in pieces for event in reader.push(piece)), *reader.push("", last=True)]


def summary(events: list[Event]) -> tuple[str, str, list[tuple[str, str]]]:
    """Content, thought, and each call's name with its arguments."""
    said = "".join(event.text for event in events if isinstance(event, Content))
    thought = "".join(event.text for event in events if isinstance(event, Reasoning))
    calls = [event for event in events if isinstance(event, CallBegun)]
    arguments = ["".join(e.text for e in events if isinstance(e, ArgumentsDelta) and e.index == c.index) for c in calls]
    return said, thought, [(call.name, given) for call, given in zip(calls, arguments, strict=True)]


def reader(name: str | None, *, thinks: bool = False, begun: bool = False) -> AnswerReader:
    return AnswerReader(
        format=None if name is None else BY_NAME[name], thoughts=THOUGHTS[0] if thinks else None, begun=begun
    )


BOTH = [("f", ARGUMENTS), ("g", ARGUMENTS)]


@pytest.mark.parametrize("name", NAMES)
def test_calls_with_their_arguments(name: str) -> None:
    assert summary(read(reader(name), TWO_CALLS[name])) == ("", "", BOTH)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "llama3"])
def test_text_before_calls_is_said(name: str) -> None:
    assert summary(read(reader(name), "Let me see.\n\n" + TWO_CALLS[name])) == ("Let me see.", "", BOTH)


def test_llamas_calls_come_with_a_mark_too() -> None:
    assert summary(read(reader("llama3"), "Well.<|python_tag|>" + TWO_CALLS["llama3"])) == ("Well.", "", BOTH)


def test_json_that_is_no_call_is_said() -> None:
    assert summary(read(reader("llama3"), '{"name', '": 3}')) == ('{"name": 3}', "", [])


@given(data=st.data(), name=st.sampled_from(NAMES), thinks=st.booleans())
def test_pieces_of_any_size_give_the_same(data: st.DataObject, name: str, thinks: bool) -> None:
    text = ("<think>\nhm\n</think>\n\n" if thinks else "") + TWO_CALLS[name]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert summary(read(reader(name, thinks=thinks), *pieces)) == ("", "hm" if thinks else "", BOTH)


@given(text=st.text(alphabet="<tool_cal>think/ \n{}ab", max_size=40))
def test_no_text_is_lost_or_made_up(text: str) -> None:
    """Without a mark in it: white space after it could have come before a mark, and is given at the end."""
    if "<tool_call>" in text:
        return
    assert summary(read(reader("hermes"), *text))[0] == text


def test_arguments_come_as_they_are_written() -> None:
    found = reader("hermes")
    assert found.push('<tool_call>\n{"name": "f", "arg') == []
    begun, first = found.push('uments": {"a": "b}')
    assert isinstance(begun, CallBegun)
    assert first == ArgumentsDelta(0, '{"a": "b}')
    assert found.push('\\"} ') == [ArgumentsDelta(0, '\\"} ')]
    assert found.push('"}}\n</tool_call>') == [ArgumentsDelta(0, '"}')]
    assert found.push("", last=True) == []
    assert found.calls == 1


def test_what_is_certain_is_not_held_back() -> None:
    found = reader("hermes")
    assert found.push("a <tool") == [Content("a")]
    assert found.push("box>") == [Content(" <toolbox>")]


def test_thoughts_and_what_is_said() -> None:
    assert summary(read(reader(None, thinks=True), "<think>\n1 < 2\n</think>\n\nYes.")) == ("Yes.", "1 < 2", [])


def test_thoughts_that_the_prompt_has_begun() -> None:
    assert summary(read(reader(None, thinks=True, begun=True), "hm</think>Yes.")) == ("Yes.", "hm", [])


def test_thoughts_that_never_end() -> None:
    assert summary(read(reader(None, thinks=True), "<think>hm </thi")) == ("", "hm </thi", [])


def test_a_mark_of_thoughts_later_on_is_text() -> None:
    assert summary(read(reader(None, thinks=True), "Write <think>.")) == ("Write <think>.", "", [])


def test_a_call_ends_with_its_object() -> None:
    cut = reader("hermes")
    for text, within in (
        ('<tool_call>\n{"name": "f"', False),
        (', "arguments": ', True),
        ('{"a": {}', True),
        ("}", False),
    ):
        cut.push(text)
        assert cut.is_within_a_call == within


def test_a_call_that_was_cut_keeps_what_there_is() -> None:
    assert summary(read(reader("hermes"), '<tool_call>\n{"name": "f", "arguments": {"a')) == ("", "", [("f", '{"a')])
    assert summary(read(reader("hermes"), '<tool_call>\n{"na')) == ('\n{"na', "", [])
