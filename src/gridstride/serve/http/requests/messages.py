"""The messages of a conversation, as OpenAI's requests have them, and as chat templates take them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gridstride.serve.http.requests.strict import Strict, wrong_at
from gridstride.serve.http.requests.tools import Name, Tool, Tools, distinct


class TextPart(Strict):
    type: Literal["text"]
    text: str


def _parts(value: Any) -> Any:
    """A part that is no text is named, since a text model can do nothing with it."""
    for part in value if isinstance(value, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("image_url", "input_audio", "file"):
            raise ValueError(f"this model reads text: it cannot take a part of type '{kind}'")
    if not isinstance(value, str | list):
        raise ValueError("it must be a string or an array of content parts")
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class CalledFunction(Strict):
    name: Name
    arguments: str

    @field_validator("arguments")
    @classmethod
    def _an_object(cls, value: str) -> str:
        try:
            arguments = json.loads(value or "{}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it must be JSON: {error}") from error
        if not isinstance(arguments, dict):
            raise ValueError("it must be a JSON object")
        return value or "{}"


class ToolCall(Strict):
    id: Annotated[str, Field(min_length=1, max_length=256)]
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None  # of a stream's chunks, for those who send back what they have put together


class Message(Strict):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[list[TextPart], BeforeValidator(_parts)]
    name: str | None = None
    tool_call_id: Annotated[str | None, Field(validate_default=True)] = None
    tool_calls: list[ToolCall] | None = None
    reasoning_content: str | None = None  # what the answer's thoughts were, for templates that show them
    reasoning: str | None = None  # the same by vLLM's name
    # What an answer of OpenAI's carries beside its text, for those who send answers back as they came.
    refusal: None = None
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    audio: None = None
    function_call: None = None

    @model_validator(mode="before")
    @classmethod
    def _calls_need_no_text(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("role") == "assistant" and value.get("content") is None:
            return {**value, "content": []} if value.get("tool_calls") else value
        return value

    @field_validator("tool_call_id")
    @classmethod
    def _of_tools(cls, value: str | None, info: Any) -> str | None:
        if value is None and info.data.get("role") == "tool":
            raise PydanticCustomError("missing", "a tool's message says which call it answers")
        return value

    @field_validator("tool_calls")
    @classmethod
    def _of_answers(cls, value: list[ToolCall] | None, info: Any) -> list[ToolCall] | None:
        if value and info.data.get("role") not in ("assistant", None):
            raise ValueError("only messages of the role 'assistant' have them")
        return value

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content)

    @property
    def size(self) -> int:
        """Characters that become part of a prompt."""
        thoughts = len(self.reasoning_content or "") + len(self.reasoning or "")
        calls = sum(len(call.function.arguments) + len(call.function.name) for call in self.tool_calls or ())
        return sum(len(part.text) for part in self.content) + len(self.name or "") + thoughts + calls

    def plain(self, id_of: Callable[[str], str] = str, called: str | None = None) -> dict[str, Any]:
        """As chat templates take it; they know `system` by that name alone, and a call's arguments as an object.

        `id_of`: a call's id as the template has it. `called`: the function that a tool's message is the result of.
        """
        message: dict[str, Any] = {"role": "system" if self.role == "developer" else self.role, "content": self.text}
        if name := self.name or called:
            message["name"] = name
        if self.role == "tool" and self.tool_call_id is not None:
            message["tool_call_id"] = id_of(self.tool_call_id)
        if self.tool_calls:
            message["tool_calls"] = [_call(call, id_of) for call in self.tool_calls]
        if (thoughts := self.reasoning_content or self.reasoning) is not None:
            message["reasoning_content"] = thoughts
        return message


def _call(call: ToolCall, id_of: Callable[[str], str]) -> dict[str, Any]:
    function = {"name": call.function.name, "arguments": json.loads(call.function.arguments)}
    return {"id": id_of(call.id), "type": "function", "function": function}


def plain(messages: list[Message], id_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """All of a conversation, as chat templates take it."""
    names = {call.id: call.function.name for message in messages for call in message.tool_calls or ()}
    return [message.plain(id_of, names.get(message.tool_call_id or "")) for message in messages]


class Conversation(Strict):
    """What becomes a prompt by the model's chat template; the last three are vLLM's."""

    messages: Annotated[list[Message], Field(min_length=1)] | None = None
    tools: Tools | None = None
    chat_template_kwargs: dict[str, JsonValue] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None

    @field_validator("messages")
    @classmethod
    def _results_of_calls(cls, value: list[Message] | None) -> list[Message] | None:
        """A result belongs to a call before it."""
        calls: set[str] = set()
        for index, message in enumerate(value or ()):
            if message.role == "tool" and message.tool_call_id not in calls:
                what = f"no message before it has 'tool_calls' with the id '{message.tool_call_id}'"
                raise wrong_at(f"[{index}].tool_call_id", what)
            calls.update(call.id for call in message.tool_calls or ())
        return value

    @field_validator("tools")
    @classmethod
    def _of_different_names(cls, value: list[Tool] | None) -> list[Tool] | None:
        distinct(value)
        return value

    @field_validator("continue_final_message")
    @classmethod
    def _instead_of_an_answer(cls, value: bool | None, info: Any) -> bool | None:
        if value and info.data.get("add_generation_prompt"):
            raise ValueError("it contradicts 'add_generation_prompt': a text goes on, or an answer begins")
        return value
