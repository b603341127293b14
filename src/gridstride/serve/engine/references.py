"""References of a JSON schema that lead nowhere: the grammar's compiler finds them only once a text has come there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote


def endless(schema: Mapping[str, Any]) -> str | None:
    """A reference that, followed from one to the next, comes back to itself and says nothing; None for none."""
    for first in _references(schema):
        visited, reference = {first}, _next(schema, first)
        while reference is not None:
            if reference in visited:
                return reference
            visited.add(reference)
            reference = _next(schema, reference)
    return None


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if isinstance(reference := value.get("$ref"), str):
                yield reference
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _next(schema: Any, reference: str) -> str | None:
    """The reference that stands where this one leads, within the schema."""
    if not reference.startswith("#"):
        return None
    target = schema
    for part in filter(None, reference[1:].split("/")):
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, Mapping) and key in target:
            target = target[key]
        else:
            return None
    pointer = target.get("$ref") if isinstance(target, Mapping) else None
    return pointer if isinstance(pointer, str) else None
