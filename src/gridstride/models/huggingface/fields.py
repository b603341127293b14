"""Reading of JSON files and of their fields, each with the type it must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridstride.models.errors import ModelError

_BYTES_AT_MOST = 256 << 20  # of a JSON file; the largest tokenizer.json known have 40 MB
_MOST = 1 << 40  # of any whole number: no size of a model is near it


def read_text(path: Path) -> str:
    """The text of a file of a model folder."""
    try:
        if path.stat().st_size > _BYTES_AT_MOST:
            raise ModelError(f"{path} has {path.stat().st_size} bytes; at most {_BYTES_AT_MOST} are read")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}") from error


def read_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds."""
    try:
        thing = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ModelError(f"{path}:{error.lineno}:{error.colno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ModelError(f"{path} is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise ModelError(f"{path} is not JSON that can be read: {error}") from error
    if not isinstance(thing, dict):
        raise ModelError(f"{path} holds {_kind(thing)}, not an object")
    return thing


@dataclass(frozen=True, slots=True)
class Fields:
    """An object's fields by name; null counts as absent. Errors say `where`, the field and its value."""

    values: Mapping[str, Any]
    where: str

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number above 0."""
        value = self._present(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "a whole number is needed")
        if not 0 < value < _MOST:
            raise self.wrong(name, f"it must be above 0 and below {_MOST}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        value = self._present(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number is needed")
        if not abs(value) < float("inf"):
            raise self.wrong(name, "a finite number is needed")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._present(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false is needed")
        return value

    def word(self, name: str, default: str | None = None) -> str:
        value = self._present(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "a string is needed")
        return value

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of finite numbers."""
        value = self._present(name, None)
        if not isinstance(value, list) or any(type(number) not in (int, float) for number in value):
            raise self.wrong(name, "a list of numbers is needed")
        if not all(abs(number) < float("inf") for number in value):
            raise self.wrong(name, "finite numbers are needed")
        return tuple(float(number) for number in value)

    def object(self, name: str) -> Fields | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(name, "an object is needed")
        return None if value is None else Fields(value, f"{self.where}: {name}")

    def wrong(self, name: str, why: str) -> ModelError:
        return ModelError(f"{self.where}: {name} is {shown(self.values.get(name))}: {why}")

    def _present(self, name: str, default: Any) -> Any:
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise ModelError(f"{self.where}: {name} is missing")
        return value


def shown(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 80 else text[:77] + "..."


def _kind(thing: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return kinds.get(type(thing), "a number")
