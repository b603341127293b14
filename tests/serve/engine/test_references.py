"""References of JSON schemas that say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gridstride.serve.engine.references import endless


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}, "$ref": "#/$defs/x"},
        {"items": [{"$ref": "#/items/0"}]},
        {"$defs": {"a/b": {"$ref": "#/$defs/a~1b"}}},
    ],
)
def test_a_reference_to_itself_says_nothing(schema: dict[str, Any]) -> None:
    assert endless(schema) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        {"$defs": {"x": {"type": "string"}}, "$ref": "#/$defs/x"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.com/schema"},
        {"properties": {"$ref": {"type": "string"}}},
    ],
)
def test_others_say_something_or_are_another_fault(schema: dict[str, Any]) -> None:
    assert endless(schema) is None
