"""Unions of a JSON schema whose alternatives are told apart by a property, as pydantic writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DATA = frozenset({"const", "enum", "default", "examples"})  # values, not schemas


def told_apart(schema: Any) -> Any:
    """The same schema, in which a `discriminator`'s property must be there in each alternative of its `oneOf`.

    A property with a default is not required, so that an object without it would be of several alternatives: `oneOf`
    allows none of these.
    """
    if isinstance(schema, list):
        return [told_apart(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    changed = {key: value if key in _DATA else told_apart(value) for key, value in schema.items()}
    discriminator, alternatives = schema.get("discriminator"), changed.get("oneOf")
    name = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
    if isinstance(name, str) and isinstance(alternatives, list):
        changed["oneOf"] = [{"allOf": [alternative, {"required": [name]}]} for alternative in alternatives]
    return changed
