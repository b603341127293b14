"""Words of a worker taken for what they say to be and no more: texts, whole numbers, and what is no reply at all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gridstride.plain import plain

MOST_LINES = 1 << 24  # of a source
_LONGEST = 20_000  # characters of any text that a worker says

_P = ParamSpec("_P")
_T = TypeVar("_T")


class MalformedError(Exception):
    """A reply that is none."""


def strict(parse: Callable[_P, _T]) -> Callable[_P, _T]:
    """Whatever goes wrong while a stranger's words are read, the words are at fault."""

    @functools.wraps(parse)
    def strict(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return parse(*args, **kwargs)
        except (MalformedError, MemoryError):
            raise
        except Exception as error:
            raise MalformedError(text(f"{type(error).__name__}: {error}", 200)) from error

    return strict


def text(value: object, longest: int = _LONGEST) -> str:
    """A text to be shown: nothing that could play with a terminal, and not without end. Of anything else, what it is:
    what is nested deeply has no text.
    """
    return plain(value[:longest] if isinstance(value, str) else f"a {type(value).__name__}")


def integer(value: object, least: int, most: int) -> int:
    """A whole number within its range; MalformedError."""
    if type(value) is not int or not least <= value <= most:
        raise MalformedError(f"a {type(value).__name__} that is not within {least} to {most}")
    return value


def named(value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"a {type(value).__name__} in the place of a text")
    return text(value, longest)


def source_line(value: object) -> int | None:
    """A line of the source; none for one that no source has, as a #line of the submission's may say."""
    return value if type(value) is int and 0 <= value <= MOST_LINES else None
