"""Which format a chat template has, and the ids that it takes."""

from __future__ import annotations

import pytest
from templates import BY_FORMAT, HERMES, LLAMA3, THINKING
from tiny import TEMPLATE

from gridstride.serve.answers.formats import FORMATS, THOUGHTS, format_of, takes_one_call, thoughts_of


@pytest.mark.parametrize("name", BY_FORMAT)
def test_templates_show_their_format(name: str) -> None:
    found = format_of(BY_FORMAT[name])
    assert found is not None
    assert found.name == name


def test_a_template_without_tools_has_none() -> None:
    assert format_of(TEMPLATE) is None


def test_calls_in_xml_are_not_taken_for_json() -> None:
    """Qwen3-Coder's calls have the same outer mark."""
    assert format_of(HERMES.replace("</tool_call>", "<function=f><parameter=p></tool_call>")) is None


def test_thoughts_are_known_by_their_closing_mark() -> None:
    assert thoughts_of(THINKING) == THOUGHTS[0]
    assert thoughts_of("[THINK]{{ x }}[/THINK]") == THOUGHTS[1]
    assert thoughts_of(HERMES) is None


def test_llamas_templates_take_one_call_at_a_time() -> None:
    for name, template in BY_FORMAT.items():
        found = format_of(template)
        assert found is not None
        assert takes_one_call(found, template) == (name == "llama3")
    llama = format_of(LLAMA3)
    assert llama is not None
    assert not takes_one_call(llama, LLAMA3.replace("single tool-calls", "any"))


@pytest.mark.parametrize("format", FORMATS, ids=lambda each: each.name)
def test_ids_fit_the_template(format: object) -> None:
    assert format in FORMATS
    for each in FORMATS:
        ids = {each.new_id() for _ in range(50)}
        assert len(ids) == 50
        assert all(each.accepted_id(id) == id for id in ids)
        foreign = each.accepted_id("call_of-another-server")
        assert foreign == each.accepted_id("call_of-another-server")
        assert each.id_length is None or (len(foreign) == each.id_length and foreign.isalnum())
