"""What requests may say: OpenAI's fields, and a few of vLLM's for sampling. Whatever else comes is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from gridstride.serve.engine.sampling import REQUESTED, RULES
from gridstride.serve.http.requests.messages import Conversation, Message
from gridstride.serve.http.requests.strict import Served, Strict
from gridstride.serve.http.requests.tools import ToolChoice
from gridstride.serve.http.settings import MAX_N, MAX_STOP, MAX_TOP_LOGPROBS

_INT64 = 1 << 63


def _stops(value: Any) -> Any:
    stops = [value] if isinstance(value, str) else value
    if stops is None:
        return ()
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise ValueError("it must be a string or an array of strings, none of them empty")
    if len(stops) > MAX_STOP:
        raise ValueError(f"at most {MAX_STOP} stop sequences may be given, not {len(stops)}")
    return tuple(stops)


def _bias(value: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(key.isascii() and key.isdecimal() for key in value):
        raise ValueError("it must be an object of token ids and numbers from -100 to 100")
    return {int(key): bias for key, bias in value.items()}


def _bounds(option: str) -> Any:
    """What a request may ask of a sampling option."""
    bounds: dict[str, Any] = dict(RULES[option].request or {})
    return Field(**bounds)


class StreamOptions(Strict):
    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None


class JsonSchema(Strict):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    schema_: Annotated[dict[str, JsonValue], Field(alias="schema")]
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(Strict):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StructuredOutputs(Strict):
    """What the text must satisfy, as vLLM has it; before version 0.12 the same as guided_*."""

    json_: Annotated[dict[str, JsonValue] | str | None, Field(alias="json")] = None
    regex: str | None = None
    choice: Annotated[list[str], Field(min_length=1)] | None = None
    grammar: str | None = None
    json_object: bool | None = None

    @property
    def schemas(self) -> list[str]:
        """As `Sampling.schema` has them; more than one cannot be."""
        schemas = [] if self.json_ is None else [self.json_ if isinstance(self.json_, str) else json.dumps(self.json_)]
        schemas += [""] if self.json_object else []
        schemas += [] if self.regex is None else [f"regex:{self.regex}"]
        schemas += [] if self.grammar is None else [f"lark:{self.grammar}"]
        schemas += [] if self.choice is None else ["lark:start: " + " | ".join(map(json.dumps, self.choice))]
        return schemas


BINDING = ("structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar")
"""Fields that bind a text, beside `response_format`."""


class Generate(Served):
    """What chat and plain completions share."""

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_N)] | None = None
    seed: Annotated[int, Field(ge=-_INT64, lt=_INT64)] | None = None
    temperature: Annotated[float, _bounds("temperature")] | None = None
    top_p: Annotated[float, _bounds("top_p")] | None = None
    presence_penalty: Annotated[float, _bounds("presence_penalty")] | None = None
    frequency_penalty: Annotated[float, _bounds("frequency_penalty")] | None = None
    logit_bias: Annotated[dict[int, Annotated[float, _bounds("logit_bias")]], BeforeValidator(_bias)] = Field(
        default_factory=dict
    )
    stop: Annotated[tuple[str, ...], BeforeValidator(_stops)] = ()
    user: str | None = None  # says who asks; it changes nothing
    # vLLM's additions
    top_k: Annotated[int, _bounds("top_k")] | None = None
    min_p: Annotated[float, _bounds("min_p")] | None = None
    repetition_penalty: Annotated[float, _bounds("repetition_penalty")] | None = None
    min_tokens: Annotated[int, _bounds("min_tokens")] | None = None
    ignore_eos: bool | None = None
    prompt_logprobs: Annotated[int, _bounds("prompt_logprobs")] | None = None
    skip_special_tokens: bool | None = None
    response_format: ResponseFormat | None = None  # OpenAI's, of chats; vLLM's completions take it as well
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, JsonValue] | str | None = None
    guided_regex: str | None = None
    guided_choice: Annotated[list[str], Field(min_length=1)] | None = None
    guided_grammar: str | None = None
    stop_token_ids: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=64)] | None = None

    @field_validator("prompt_logprobs")
    @classmethod
    def _of_whole_answers(cls, value: int | None, info: Any) -> int | None:
        if value is not None and info.data.get("stream"):
            raise ValueError("it may not be given when 'stream' is true")
        return value

    @field_validator("stream_options")
    @classmethod
    def _of_streams(cls, value: StreamOptions | None, info: Any) -> StreamOptions | None:
        if value is not None and not info.data.get("stream"):
            raise ValueError("it may be given only when 'stream' is true")
        return value

    @field_validator("response_format")
    @classmethod
    def _with_schema(cls, value: ResponseFormat | None) -> ResponseFormat | None:
        if value is not None and (value.type == "json_schema") != (value.json_schema is not None):
            raise ValueError("'json_schema' belongs to the type json_schema, and to that alone")
        return value

    @property
    def structured(self) -> list[str]:
        """What the text must satisfy, by `structured_outputs` and guided_*."""
        guided = StructuredOutputs.model_validate(
            {"json": self.guided_json, "regex": self.guided_regex, "choice": self.guided_choice,
             "grammar": self.guided_grammar}
        )  # fmt: skip
        return [*guided.schemas, *(self.structured_outputs.schemas if self.structured_outputs else ())]

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)


if missing := REQUESTED - Generate.model_fields.keys():
    raise ImportError(f"generate.py: Generate has no field for the sampling options {', '.join(sorted(missing))}")


class ChatRequest(Conversation, Generate):
    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "functions": ([],), "function_call": ("none", "auto"), "audio": (), "modalities": (["text"],), "prediction": (),
        "web_search_options": (), "reasoning_effort": ("none",), "verbosity": ("medium",), "store": (False,),
    }  # fmt: skip

    messages: Annotated[list[Message], Field(min_length=1)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] | None = None
    tool_choice: ToolChoice = None
    reasoning_effort: Any = None  # "none" alone: no thoughts, as `enable_thinking` false of the template
    parallel_tool_calls: bool | None = None
    # They change nothing here.
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    # Refused by name, see above.
    functions: Any = None
    function_call: Any = None
    audio: Any = None
    modalities: Any = None
    prediction: Any = None
    web_search_options: Any = None
    verbosity: Any = None
    store: Any = None

    @field_validator("top_logprobs")
    @classmethod
    def _with_logprobs(cls, value: int | None, info: Any) -> int | None:
        if value is not None and not info.data.get("logprobs"):
            raise ValueError("it may be given only when 'logprobs' is true")
        return value

    @field_validator("tool_choice")
    @classmethod
    def _of_tools(cls, value: ToolChoice, info: Any) -> ToolChoice:
        tools = info.data.get("tools") or ()
        if value not in (None, "none", "auto") and not tools:
            raise ValueError("it may be given only where there are 'tools'")
        function_names = {tool.function.name for tool in tools}
        for name in [] if value is None or isinstance(value, str) else value.names:
            if name not in function_names:
                raise ValueError(f"'tools' has no function '{name}'; it has {', '.join(sorted(function_names))}")
        return value


Prompt = str | tuple[int, ...]


def prompts(value: Any) -> Any:
    """A string, an array of tokens, or an array of either: always as a tuple of prompts."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and value:
        if all(type(token) is int for token in value):
            return (tuple(value),)
        if all(isinstance(prompt, str) for prompt in value):
            return tuple(value)
        if all(isinstance(p, list) and p and all(type(token) is int for token in p) for p in value):
            return tuple(tuple(prompt) for prompt in value)
    raise ValueError("it must be a string, an array of token ids, or an array of strings or of such arrays, not empty")


class CompletionRequest(Generate):
    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {"suffix": ("",)}

    prompt: Annotated[tuple[Prompt, ...], BeforeValidator(prompts)]
    logprobs: Annotated[int, Field(ge=0, le=5)] | None = None
    echo: bool | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None  # 0: the prompt alone, as `echo` wants it
    best_of: Annotated[int, Field(ge=1, le=20)] | None = None
    suffix: Any = None


class TokenizeRequest(Conversation):
    model: str | None = None
    prompt: str | None = None
    add_special_tokens: bool | None = None


class DetokenizeRequest(Strict):
    model: str | None = None
    tokens: list[Annotated[int, Field(ge=0)]]
