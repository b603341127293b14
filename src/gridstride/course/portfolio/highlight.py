"""A source with its syntax highlighted, line by line: classes for a style sheet, everything escaped."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from gridstride.judge.report.svg import tag

CLASSES = ("comment", "preprocessor", "type", "keyword", "string", "number")


def highlighted(source: str, file: str) -> list[Markup]:
    """The lines of `source`; the name of `file` says which language it is, and of none that is known it stays plain."""
    lines: list[list[Markup]] = [[]]
    for kind, text in _tokens(source, file):
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append(tag("span", piece, class_=kind) if kind else escape(piece))
    if not lines[-1]:  # the line break at the end of the file
        lines.pop()
    return [Markup("").join(line) for line in lines]


def _tokens(source: str, file: str) -> list[tuple[str, str]]:
    """The source in pieces, each with its class or none."""
    from pygments.lexers import TextLexer, get_lexer_for_filename
    from pygments.util import ClassNotFound

    options = {"stripnl": False, "ensurenl": False}
    try:
        lexer = get_lexer_for_filename(file, **options)
    except ClassNotFound:
        lexer = TextLexer(**options)
    tokens = ((_class(kind), text) for kind, text in lexer.get_tokens(source))
    return [(name, "".join(text for _, text in run)) for name, run in groupby(tokens, key=lambda token: token[0])]


def _class(kind: Any) -> str:
    """The class of a kind of token; the narrower kinds come first."""
    from pygments.token import Token

    kinds = (
        (Token.Comment.Preproc, "preprocessor"), (Token.Comment.PreprocFile, "string"), (Token.Comment, "comment"),
        (Token.Keyword.Type, "type"), (Token.Keyword, "keyword"), (Token.Literal.String, "string"),
        (Token.Literal.Number, "number"),
    )  # fmt: skip
    return next((name for of, name in kinds if kind in of), "")
