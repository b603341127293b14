"""TOML with every key accounted for: one that is missing, misspelt or of another type is an error with its line."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from gridstride.course.course_errors import LessonError
from gridstride.course.files.toml_lines import lines_of

T = TypeVar("T")
PLACE = re.compile(r"\(at line (\d+)")
_REQUIRED: Any = object()
_TYPES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


class TomlTable:
    """One table of a file. `take` gives a key's value; `done` refuses the keys that nobody took."""

    def __init__(
        self, file: Path, values: Mapping[str, Any], lines: Mapping[tuple[str | int, ...], int],
        path: tuple[str | int, ...] = (), offset: int = 0,
    ) -> None:  # fmt: skip
        self.file = file
        self._values, self._lines, self._path, self._offset = values, lines, path, offset
        self._read_keys: set[str] = set()

    @property
    def name(self) -> str:
        """The last part of the table's path; of an entry in a list, its number from 1."""
        last = self._path[-1] if self._path else self.file.name
        return str(last + 1) if isinstance(last, int) else last

    def line(self, key: str = "") -> int:
        """The line of a key, or of the table where the key has none of its own."""
        path = (*self._path, key) if key else self._path
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path] + self._offset

    def fail(self, message: str, key: str = "") -> NoReturn:
        """A mistake in this table, at a key's line."""
        raise LessonError(self.file, self.line(key), message)

    def take(self, key: str, kind: type[T], default: Any = _REQUIRED) -> T:
        """The value of a key, of that type; its default where it is left out."""
        self._read_keys.add(key)
        if key not in self._values:
            if default is _REQUIRED:
                self.fail(f"{self._title()}lacks `{key}`")
            return cast(T, default)
        value = self._values[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"`{key}` is {value!r}: {_TYPES[kind]} belongs there", key)
        if isinstance(value, str) and not value.strip():
            self.fail(f"`{key}` is empty", key)
        return value

    def texts(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """A list of texts."""
        values = self.take(key, list, default)
        for value in values:
            if not isinstance(value, str) or not value.strip():
                self.fail(f"`{key}` holds {value!r}: texts belong there", key)
        return tuple(values)

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        values = self.take(key, list)
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                self.fail(f"`{key}` holds {value!r}: whole numbers belong there", key)
        return tuple(values)

    def list(self, key: str, *, needed: bool = True) -> list[TomlTable]:
        """The entries of an array of tables."""
        self._read_keys.add(key)
        values = self._values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.fail(f"`{key}` is no list of tables: write each as [[{key}]]", key)
        if needed and not values:
            self.fail(f"{self._title()}has no [[{key}]]")
        return [self._below(value, key, index) for index, value in enumerate(values)]

    def tables(self, key: str) -> dict[str, TomlTable]:
        """The tables [key.name], by name; none where there are none."""
        self._read_keys.add(key)
        values = self._values.get(key, {})
        if not isinstance(values, dict) or not all(isinstance(value, dict) for value in values.values()):
            self.fail(f"`{key}` holds something else than tables: write each as [{key}.name]", key)
        return {name: self._below(value, key, name) for name, value in values.items()}

    def mapping(self, key: str) -> dict[str, Any]:
        """A table whose keys are anybody's, such as sizes; empty where it is left out."""
        self._read_keys.add(key)
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            self.fail(f"`{key}` is {value!r}: a table {{ name = value }} belongs there", key)
        return dict(value)

    def done(self) -> None:
        """LessonError for a key that nobody has taken."""
        for key in self._values:
            if key not in self._read_keys:
                near = difflib.get_close_matches(key, self._read_keys, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(sorted(self._read_keys))}"
                self.fail(f"`{key}` is no key here: {hint}", key)

    def _below(self, value: Mapping[str, Any], *path: str | int) -> TomlTable:
        return TomlTable(self.file, value, self._lines, (*self._path, *path), self._offset)

    def _title(self) -> str:
        parts = [str(part + 1) if isinstance(part, int) else part for part in self._path]
        return f"{' '.join(parts)} " if parts else ""


def read_table(file: Path) -> TomlTable:
    """The file as one table; LessonError where it is missing or no TOML."""
    return parse_table(file, text_of(file))


def parse_table(file: Path, text: str, offset: int = 0) -> TomlTable:
    """The same for a text that begins `offset` lines below the file's first."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = PLACE.search(str(error))
        line = int(match[1]) if match else max(1, len(text.splitlines()))
        raise LessonError(file, line + offset, f"this is no TOML: {error}") from error
    return TomlTable(file, values, lines_of(text), offset=offset)


def text_of(file: Path) -> str:
    """What is in the file; LessonError where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise LessonError(file, 1, "there is no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(file, 1, f"it cannot be read: {error}") from error
