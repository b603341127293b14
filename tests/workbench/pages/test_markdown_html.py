"""The course's Markdown on a page says what it says in a terminal."""

from __future__ import annotations

import html
import importlib.util
import io
import re

import pytest

if importlib.util.find_spec("nicegui") is None:
    pytest.skip("the workbench needs NiceGUI", allow_module_level=True)

from rich.console import Console
from rich.markdown import Markdown

from gridstride.course.content import day, day_numbers
from gridstride.course.files.markdown import for_reader, prose
from gridstride.workbench.pages.markdown_html import html_of, listing_html, sentences_html


def letters(shown: str) -> str:
    """Without what each of the two adds: space, rules and bullets."""
    return re.sub(r"[\s─━═│┃▌•]", "", shown)


def in_a_terminal(text: str) -> str:
    out = io.StringIO()
    Console(file=out, width=1000, color_system=None).print(Markdown(text, hyperlinks=False))
    return out.getvalue()


@pytest.mark.parametrize("number", day_numbers())
def test_a_page_has_the_letters_that_a_terminal_has(number: int) -> None:
    text = "\n".join(line for _, line in prose(for_reader(day(number).text, lambda link: link.text)))
    text = re.sub(r"^( *)\d+\. ", r"\1- ", text, flags=re.MULTILINE)  # a page's numbers are the browser's
    page = html.unescape(re.sub(r"</?[a-z][^>]*>", "", html_of(text)))
    assert letters(page) == letters(in_a_terminal(text))


@pytest.mark.parametrize("text", ["device_a and device_b", "__syncthreads() and __all_sync(x)", "2 * a and 3 * b"])
def test_a_name_is_no_emphasis(text: str) -> None:
    assert html_of(text) == f"<p>{text}</p>\n"


@pytest.mark.parametrize("text", ["*(float4*)&a[0] = *(const float4*)&b[0]", "void __launch_bounds__(8) f()", "1. one"])
def test_a_hint_is_shown_as_it_is_written_but_for_its_code(text: str) -> None:
    assert html.unescape(sentences_html(f"{text} is `{text}`")) == f"<p>{text} is <code>{text}</code></p>\n"


@pytest.mark.parametrize("text", ["add<<<blocks, 256>>>(x)", "move<<<g>>>(x)", "<b>bold</b>", "<script>x</script>"])
def test_what_looks_like_html_is_text(text: str) -> None:
    assert html.unescape(html_of(text)) == f"<p>{text}</p>\n"
    assert "<b>" not in html_of(text)
    assert "<script>" not in html_of(text)


def test_tables_and_listings_are_reached_by_keyboard_and_a_tables_corner_is_no_heading() -> None:
    page = html_of("| | b |\n|---|--:|\n| 1 | 2 |\n\n```cuda\nint x;\n```\n")
    assert '<table tabindex="0">' in page
    assert "<td></td>" in page
    assert '<th style="text-align:right">b</th>' in page
    assert '<pre tabindex="0"><code><span class="kt">int</span>' in page


def test_a_listing_ends_nowhere_before_its_end() -> None:
    text = "a\n```\n<b>\n"
    assert "a\n```\n&lt;b&gt;\n" in html.unescape(listing_html(text, "none")).replace("<b>", "&lt;b&gt;")
    assert "<b>" not in listing_html(text, "none")
