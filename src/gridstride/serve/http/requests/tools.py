"""Tools that a model may call, as OpenAI's requests have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, field_validator

from gridstride.serve.engine.references import endless
from gridstride.serve.http.requests.strict import Strict, wrong_at
from gridstride.serve.http.settings import MAX_TOOLS

Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]


_MORE = frozenset("additionalProperties patternProperties unevaluatedProperties allOf anyOf oneOf if $ref".split())
"""What in a schema may speak of properties beside `properties`."""


class FunctionTool(Strict):
    """A function; its arguments always satisfy `parameters`, whatever `strict` says."""

    name: Name
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    strict: bool | None = None

    @field_validator("parameters")
    @classmethod
    def _of_an_object(cls, value: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        if value is not None and value.get("type", "object") != "object":
            raise ValueError("arguments are an object: its schema must have the type 'object'")
        if value is not None and (reference := endless(value)) is not None:
            raise ValueError(f"the schema cannot be used: {reference} refers to itself alone")
        return value

    @property
    def schema_(self) -> dict[str, Any]:
        """Of the arguments; no others than its `properties` where it does not say which more there may be."""
        schema = {"type": "object", "properties": {}, **(self.parameters or {})}
        return schema if _MORE & schema.keys() else {**schema, "additionalProperties": False}


class Tool(Strict):
    type: Literal["function"]
    function: FunctionTool

    def plain(self) -> dict[str, Any]:
        """As chat templates take it."""
        function = self.function.model_dump(exclude_unset=True, exclude={"strict"})
        return {"type": "function", "function": function}


def distinct(tools: Sequence[Tool] | None) -> Sequence[Tool] | None:
    """These, which must have different names."""
    names = [tool.function.name for tool in tools or ()]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise wrong_at(f"[{index}].function.name", f"two tools have the name '{name}'")
    return tools


Tools = Annotated[list[Tool], Field(max_length=MAX_TOOLS)]


class _FunctionName(Strict):
    name: str


class NamedTool(Strict):
    """This function must be called."""

    type: Literal["function"]
    function: _FunctionName
    mode: ClassVar[str] = "required"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.function.name,)


class _Allowed(Strict):
    mode: Literal["auto", "required"]
    tools: Annotated[list[NamedTool], Field(min_length=1)]


class AllowedTools(Strict):
    """Only these may be called, or one of them must be."""

    type: Literal["allowed_tools"]
    allowed_tools: _Allowed

    @property
    def mode(self) -> str:
        return self.allowed_tools.mode

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.function.name for tool in self.allowed_tools.tools)


def _kind(value: Any) -> str:
    """Which form a choice has, so that what is wrong with it is said of that form alone."""
    if isinstance(value, dict):
        return "~allowed" if value.get("type") == "allowed_tools" else "~named"
    return "~named" if isinstance(value, NamedTool) else "~allowed" if isinstance(value, AllowedTools) else "~word"


Word = Literal["none", "auto", "required"]
Choice: TypeAlias = Annotated[
    Annotated[Word, Tag("~word")] | Annotated[NamedTool, Tag("~named")] | Annotated[AllowedTools, Tag("~allowed")],
    Discriminator(_kind),
]
ToolChoice: TypeAlias = Choice | None
