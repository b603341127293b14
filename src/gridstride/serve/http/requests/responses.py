"""What may be asked of `/v1/responses`, and the chat that it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

from gridstride.serve.http.requests.strict import Served, Strict, wrong_at
from gridstride.serve.http.requests.tools import FunctionTool, Word


class _Item(Strict):
    """Items of answers are sent back as they came: what they say beside this changes nothing."""

    model_config = ConfigDict(**{**Strict.model_config, "extra": "ignore"})


class _Text(_Item):
    type: Literal["input_text", "output_text", "text"]
    text: str


class _MessageItem(_Item):
    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Text]


class _CallItem(_Item):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class _ResultItem(_Item):
    type: Literal["function_call_output"]
    call_id: str
    output: str | list[_Text]


class _Thoughts(_Item):
    text: str


class _ReasoningItem(_Item):
    type: Literal["reasoning"]
    content: list[_Thoughts] | None = None


def _kind(item: Any) -> str:
    """Which form an item has; what none has is told as a message's fault."""
    type = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return f"~{type}" if type in ("function_call", "function_call_output", "reasoning") else "~message"


Item: TypeAlias = Annotated[
    Annotated[_MessageItem, Tag("~message")]
    | Annotated[_CallItem, Tag("~function_call")]
    | Annotated[_ResultItem, Tag("~function_call_output")]
    | Annotated[_ReasoningItem, Tag("~reasoning")],
    Discriminator(_kind),
]


class _Function(FunctionTool):
    type: Literal["function"]

    @model_validator(mode="before")
    @classmethod
    def _of_functions(cls, value: Any) -> Any:
        """Tools of OpenAI's own have other fields, which are not what is wrong with them."""
        if isinstance(value, dict) and value.get("type") not in ("function", None):
            raise wrong_at(".type", f"only functions can be called here, no {value['type']}")
        return value


class _Named(Strict):
    type: Literal["function"]
    name: str


class _Format(Strict):
    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    schema_: Annotated[dict[str, JsonValue] | None, Field(alias="schema")] = None
    description: str | None = None
    strict: bool | None = None


class _TextOptions(Strict):
    format: _Format | None = None
    verbosity: Literal["medium"] | None = None


def _form(value: Any) -> str:
    return "~text" if isinstance(value, str) else "~items"


def _choice(value: Any) -> str:
    return "~word" if isinstance(value, str | None) else "~named"


class ResponsesRequest(Served):
    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "store": (False,), "background": (False,), "previous_response_id": (), "conversation": (), "prompt": (),
        "include": ([],), "reasoning": ({}, {"effort": None}, {"effort": "none"}), "truncation": ("disabled",),
        "top_logprobs": (0,), "max_tool_calls": (), "stream_options": ({}, {"include_obfuscation": False}),
    }  # fmt: skip

    model: str
    input: Annotated[
        Annotated[str, Tag("~text")] | Annotated[list[Item], Field(min_length=1), Tag("~items")], Discriminator(_form)
    ]
    instructions: str | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    tools: list[_Function] | None = None
    tool_choice: Annotated[
        Annotated[Word | None, Tag("~word")] | Annotated[_Named, Tag("~named")], Discriminator(_choice)
    ] = None
    parallel_tool_calls: bool | None = None
    text: _TextOptions | None = None
    stream: bool | None = None
    # vLLM's additions
    seed: int | None = None
    top_k: int | None = None
    min_p: float | None = None
    chat_template_kwargs: dict[str, JsonValue] | None = None
    # They change nothing here.
    metadata: dict[str, str] | None = None
    user: str | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    # Refused by name, see above.
    store: Any = None
    background: Any = None
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    include: Any = None
    reasoning: Any = None
    truncation: Any = None
    top_logprobs: Any = None
    max_tool_calls: Any = None
    stream_options: Any = None

    def chat(self) -> tuple[dict[str, Any], list[str]]:
        """The body of a chat that asks for the same, and which field here each of its messages is."""
        messages, fields = _messages(self.input)
        if self.instructions is not None:
            messages, fields = [{"role": "system", "content": self.instructions}, *messages], ["instructions", *fields]
        body = {name: value for name in _SAME if (value := getattr(self, name)) is not None}
        body |= {"messages": messages, "max_completion_tokens": self.max_output_tokens}
        if self.tools:
            functions = [tool.model_dump(exclude_unset=True, exclude={"type"}) for tool in self.tools]
            body["tools"] = [{"type": "function", "function": function} for function in functions]
        choice = self.tool_choice
        named = {"type": "function", "function": {"name": choice.name}} if isinstance(choice, _Named) else choice
        return body | {"tool_choice": named, "response_format": self._format()}, fields

    def _format(self) -> dict[str, Any] | None:
        format_ = self.text.format if self.text else None
        if format_ is None or format_.type != "json_schema":
            return None if format_ is None else {"type": format_.type}
        schema = {"name": format_.name, "schema": format_.schema_, "description": format_.description}
        fields = {key: value for key, value in schema.items() if value is not None}
        return {"type": "json_schema", "json_schema": fields}


_SAME = tuple("model temperature top_p parallel_tool_calls seed top_k min_p chat_template_kwargs".split())


def _messages(items: str | Sequence[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Calls, and the thoughts before, belong to the assistant's message in front of them or to one of their own."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}], ["input"]
    messages: list[dict[str, Any]] = []
    fields: list[str] = []
    thoughts: str | None = None
    for index, item in enumerate(items):
        if isinstance(item, _ReasoningItem):
            thoughts = "".join(part.text for part in item.content or ()) or None
            continue
        message = _message(item)
        calls = message.get("tool_calls")
        if calls and messages and messages[-1]["role"] == "assistant" and thoughts is None:
            messages[-1].setdefault("tool_calls", []).extend(calls)
            continue
        if thoughts is not None and message["role"] == "assistant":
            message["reasoning_content"], thoughts = thoughts, None
        messages.append(message)
        fields.append(f"input[{index}]")
    return messages, fields


def _message(item: Any) -> dict[str, Any]:
    match item:
        case _CallItem():
            function = {"name": item.name, "arguments": item.arguments}
            return {"role": "assistant", "tool_calls": [{"id": item.call_id, "type": "function", "function": function}]}
        case _ResultItem():
            return {"role": "tool", "tool_call_id": item.call_id, "content": _plain(item.output)}
        case _:
            return {"role": item.role, "content": _plain(item.content)}


def _plain(content: str | Sequence[_Text]) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)
