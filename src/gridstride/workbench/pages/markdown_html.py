"""The course's Markdown as HTML, by the parser that the terminal has: CommonMark with tables.

Markup of HTML is text: a launch, `add<<<blocks, threads>>>`, looks like it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound


@functools.lru_cache(maxsize=2000)  # texts: a hundred days have some five thousand, of which few are asked for
def html_of(text: str) -> str:
    """A text as HTML that a keyboard reaches all of: listings and tables scroll where they are too wide."""
    return str(_parser().render(text))


@functools.lru_cache(maxsize=2000)
def sentences_html(text: str) -> str:
    """A hint, a question or an answer as HTML: a terminal shows them as they are written, so that only code is marked
    and `*(const float4*)&a[0]` stays as it is outside of it too.
    """
    return str(MarkdownIt("zero").enable("backticks").render(text))


@functools.lru_cache(maxsize=200)
def listing_html(text: str, language: str) -> str:
    """A listing, its syntax coloured where the language is known."""
    try:
        coloured = highlight(text, get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True))
    except ClassNotFound:
        coloured = escape(text)
    return f'<div class="codehilite"><pre tabindex="0"><code>{coloured}</code></pre></div>'


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("th_open", _heading)
    parser.add_render_rule("th_close", _heading)
    return parser


def _fence(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    return listing_html(tokens[at].content, (tokens[at].info.split() or [""])[0])


def _table(*_: Any) -> str:
    return '<table tabindex="0">'


def _heading(renderer: Any, tokens: Sequence[Token], at: int, options: Any, _: Any) -> str:
    """A table's corner heads nothing: empty, it is a cell."""
    content = tokens[at + 1 if tokens[at].nesting == 1 else at - 1]
    if not content.content:
        tokens[at].tag = "td"
    return str(renderer.renderToken(tokens, at, options, {}))
