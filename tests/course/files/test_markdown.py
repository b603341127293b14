"""Links, blocks and figure marks of a lesson."""

from __future__ import annotations

from gridstride.course.files.markdown import blocks, for_terminal, links, marks, word_count

TEXT = """A [warp](../glossary.md#warp) has **32**<!--= lanes --> lanes, or 1,024<!--= threads -->.

```text picture=one
a [link](that is none) 7<!--= no -->
```
See [the guide](https://example.org) and `[code](none)`.
"""


def test_links_are_found_outside_of_code_with_their_lines() -> None:
    assert [(link.line, link.target) for link in links(TEXT)] == [
        (1, "../glossary.md#warp"),
        (6, "https://example.org"),
    ]


def test_marks_have_the_number_before_them() -> None:
    assert [(mark.shown, mark.figure) for mark in marks(TEXT)] == [("32", "lanes"), ("1,024", "threads")]


def test_blocks_have_their_words() -> None:
    (block,) = blocks(TEXT)
    assert (block.line, block.language, block.word("picture"), block.word("file")) == (3, "text", "one", "")
    assert block.text == "a [link](that is none) 7<!--= no -->\n"


def test_a_terminal_gets_no_marks_and_no_links_to_files() -> None:
    shown = for_terminal(TEXT)
    assert shown.startswith("A warp has **32** lanes, or 1,024.")
    assert "```text\n" in shown
    assert "[the guide](https://example.org)" in shown


def test_words_are_counted_outside_of_code() -> None:
    assert word_count(TEXT) == 12
