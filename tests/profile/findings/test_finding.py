"""Words that findings of a profile share."""

from __future__ import annotations

import pytest

from gridstride.profile.findings.finding import many, sentence, spoken


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [(1, ("copy", "copies"), "1 copy"), (1400, ("copy", "copies"), "1,400 copies"), (0, ("call",), "0 calls")],
)
def test_a_count_with_its_noun(count: int, words: tuple[str, ...], text: str) -> None:
    assert many(count, *words) == text


def test_an_operator_is_called_as_it_stands_in_a_program() -> None:
    assert spoken("aten::item") == ".item()"
    assert spoken("aten::mm") == "aten::mm"


@pytest.mark.parametrize(
    ("text", "begun"),
    [("the GPU waits", "The GPU waits"), ("aten::mm takes", "aten::mm takes"), (".item() w", ".item() w")],
)
def test_a_sentence_begins_with_a_capital_unless_a_name_has_none(text: str, begun: str) -> None:
    assert sentence(text) == begun
