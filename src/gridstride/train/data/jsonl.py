"""Rows of JSONL files: all are read before a bad one is refused, so that the message names all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from gridstride.train.errors import TrainError

T = TypeVar("T")
SHOWN = 5  # bad lines named in one message


def rows(path: Path, read: Callable[[dict[str, Any]], T], *, what: str) -> Iterator[tuple[int, T]]:
    """Line number and what `read` makes of each row, which raises ValueError for one that is not `what`.

    TrainError where the file cannot be read, and at its end where a line was bad; nothing comes after a bad line.
    """
    bad: list[str] = []
    count = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                count += 1
                try:
                    row = read(parsed(line))
                except ValueError as error:
                    bad.append(f"line {number}: {error}")
                    continue
                if not bad:
                    yield number, row
    except OSError as error:
        raise TrainError(f"data: cannot read {path}: {error.strerror}") from error
    if bad:
        shown = "; ".join(islice(bad, SHOWN)) + ("; …" if len(bad) > SHOWN else "")
        raise TrainError(f"data: {path}: {len(bad)} of {count} lines are not {what}: {shown}")


def parsed(line: bytes) -> dict[str, Any]:
    """The object that a line holds; ValueError, in words, for a line that holds none."""
    try:
        entry = json.loads(line.rstrip(b"\r\n"))  # behind a line's end the next column would be the first
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in brackets
        raise ValueError(f"not JSON that can be read ({error})") from None
    if not isinstance(entry, dict):
        raise ValueError(f"a JSON object is needed, not {type(entry).__name__}")
    return entry


def fields(entry: dict[str, Any]) -> str:
    """The names of what a row has, for a message that misses one."""
    return ", ".join(map(repr, islice(entry, 6))) or "nothing"
