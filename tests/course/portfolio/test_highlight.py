"""Sources with their syntax highlighted."""

from __future__ import annotations

import re

import pytest

from gridstride.course.portfolio.highlight import CLASSES, highlighted

CUDA = '#include <x>\n// one < two\n__global__ void k(int n) { return "a&b"; }\n'


def test_every_line_is_given_and_its_text_is_the_source_s() -> None:
    lines = highlighted(CUDA, "kernel.cu")
    assert len(lines) == 3
    text = "\n".join(re.sub("<[^>]+>", "", line) for line in lines)
    assert text.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"').replace("&amp;", "&") == CUDA[:-1]


@pytest.mark.parametrize(
    ("line", "marked"),
    [(0, '<span class="preprocessor">'), (1, '<span class="comment">// one &lt; two</span>'),
     (2, '<span class="type">int</span>'), (2, '<span class="keyword">return</span>')],
)  # fmt: skip
def test_what_a_word_is(line: int, marked: str) -> None:
    assert marked in highlighted(CUDA, "kernel.cu")[line]


def test_a_comment_over_two_lines_is_marked_on_both() -> None:
    lines = highlighted("/* a\nb */\n", "kernel.cu")
    assert [line.startswith('<span class="comment">') for line in lines] == [True, True]


def test_a_language_that_is_not_known_stays_plain() -> None:
    assert highlighted("a < b", "file.unknown-language") == ["a &lt; b"]


def test_the_style_sheet_knows_every_class() -> None:
    marked = "".join(highlighted(CUDA + "x = 1;\n", "kernel.cu"))
    assert set(re.findall('class="(\\w+)"', marked)) <= set(CLASSES)
