"""A lesson's Markdown: links, code blocks and figure marks with their lines, and the text as a terminal shows it.

A figure mark is a comment right behind a number, `4.0<!--= stride_1 -->`: the number is the figure of that name. A code
block whose info string goes on with `picture=NAME` or `file=PATH` holds what the product draws, or a file's lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(.*)$")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_MARK = re.compile(r"(\S*?)<!--=\s*([\w-]+)\s*-->")
_COMMENT = re.compile(r"<!--.*?-->")
_CODE = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class MarkdownLink:
    """A link's text and target."""

    line: int
    text: str
    target: str


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block: its language, the words after it, and its text."""

    line: int
    language: str
    words: tuple[tuple[str, str], ...]
    text: str

    def word(self, name: str) -> str:
        """The value of `name=value` in the info string; empty where it has none."""
        return dict(self.words).get(name, "")


@dataclass(frozen=True, slots=True)
class FigureMark:
    """A number in the text and the figure that it is; `shown` is empty where no number stands before the mark."""

    line: int
    shown: str
    figure: str


def blocks(text: str) -> Iterator[FencedBlock]:
    """The fenced code blocks."""
    opened: tuple[int, str] | None = None
    content: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and opened is None:
            opened, content = (number, fence[1].strip()), []
        elif fence and opened is not None:
            language, *attributes = opened[1].split() or [""]
            words = tuple((name, value) for name, _, value in (word.partition("=") for word in attributes))
            yield FencedBlock(opened[0], language, words, "".join(f"{line}\n" for line in content))
            opened = None
        elif opened is not None:
            content.append(line)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def links(text: str) -> Iterator[MarkdownLink]:
    """The links outside of code."""
    for number, line in prose(text):
        for match in _LINK.finditer(_CODE.sub("", line)):
            yield MarkdownLink(number, match[1], match[2])


def marks(text: str) -> Iterator[FigureMark]:
    """The figures that are named in the text."""
    for number, line in prose(text):
        for match in _MARK.finditer(line):
            shown = _NUMBER.search(match[1].rstrip("*`"))
            yield FigureMark(number, shown[0] if shown else "", match[2])


def word_count(text: str) -> int:
    """Words outside of code blocks."""
    return sum(len(_COMMENT.sub("", line).split()) for _, line in prose(text))


def for_terminal(text: str) -> str:
    """The lesson without marks, its links to files as their text alone: a terminal has nowhere to go."""
    return for_reader(text, lambda link: f"[{link.text}]({link.target})" if "://" in link.target else link.text)


def for_reader(text: str, link: Callable[[MarkdownLink], str]) -> str:
    """The lesson without marks and without what stands behind a block's language; `link` says how one is written."""
    shown = []
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence:
            inside = not inside
            line = f"```{(fence[1].split() or [''])[0]}"
        elif not inside:
            line = _LINK.sub(lambda m, at=number: link(MarkdownLink(at, m[1], m[2])), _COMMENT.sub("", line))  # type: ignore[misc]
        shown.append(line)
    return "\n".join(shown) + "\n"
