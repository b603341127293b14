"""What requests may say: OpenAI's fields, and a few of vLLM's for sampling. Whatever else comes is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator
from pydantic_core import PydanticCustomError

from gridstride.serve.engine.sampling import REQUESTED, RULES
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


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())


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
        found = [] if self.json_ is None else [self.json_ if isinstance(self.json_, str) else json.dumps(self.json_)]
        found += [""] if self.json_object else []
        found += [] if self.regex is None else [f"regex:{self.regex}"]
        found += [] if self.grammar is None else [f"lark:{self.grammar}"]
        found += [] if self.choice is None else ["lark:start: " + " | ".join(map(json.dumps, self.choice))]
        return found


class Generate(Strict):
    """What chat and plain completions share."""

    # Fields that OpenAI knows and this server does not serve, each with the values that ask for nothing.
    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

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
    logit_bias: Annotated[dict[int, Annotated[float, _bounds("logit_bias")]], BeforeValidator(_bias)] = {}
    stop: Annotated[tuple[str, ...], BeforeValidator(_stops)] = ()
    user: str | None = None  # says who asks; it changes nothing
    # vLLM's additions
    top_k: Annotated[int, _bounds("top_k")] | None = None
    min_p: Annotated[float, _bounds("min_p")] | None = None
    repetition_penalty: Annotated[float, _bounds("repetition_penalty")] | None = None
    min_tokens: Annotated[int, _bounds("min_tokens")] | None = None
    ignore_eos: bool | None = None
    skip_special_tokens: bool | None = None
    response_format: ResponseFormat | None = None  # OpenAI's, of chats; vLLM's completions take it as well
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, JsonValue] | str | None = None
    guided_regex: str | None = None
    guided_choice: Annotated[list[str], Field(min_length=1)] | None = None
    guided_grammar: str | None = None
    stop_token_ids: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=64)] | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _served(cls, value: Any, info: Any) -> Any:
        neutral = cls.UNSERVED.get(info.field_name)
        if neutral is not None and value is not None and value not in neutral:
            raise PydanticCustomError(
                "unsupported", "Unsupported parameter: '{name}' is not supported here.", {"name": info.field_name}
            )
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
    raise ImportError(f"schemas.py: Generate has no field for the sampling options {', '.join(sorted(missing))}")


class TextPart(Strict):
    type: Literal["text"]
    text: str


def _parts(value: Any) -> Any:
    """A part that is no text is named, since a text model can do nothing with it."""
    for part in value if isinstance(value, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("image_url", "input_audio", "file"):
            raise ValueError(f"this model reads text: it cannot take a part of type '{kind}'")
    if not isinstance(value, str | list | None):
        raise ValueError("it must be a string or an array of content parts")
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class Message(Strict):
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[TextPart], BeforeValidator(_parts)]
    name: str | None = None
    # What an answer of OpenAI's carries beside its text, for those who send answers back as they came.
    refusal: None = None
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    audio: None = None
    function_call: None = None
    tool_calls: Annotated[list[Any], Field(max_length=0)] | None = None

    def plain(self) -> dict[str, str]:
        """As chat templates take it; they know `system` by that name alone."""
        role = "system" if self.role == "developer" else self.role
        named = {} if self.name is None else {"name": self.name}
        return {"role": role, "content": "".join(part.text for part in self.content), **named}


class Conversation(Strict):
    """What becomes a prompt by the model's chat template; the last three are vLLM's."""

    messages: Annotated[list[Message], Field(min_length=1)] | None = None
    chat_template_kwargs: dict[str, JsonValue] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None

    @field_validator("continue_final_message")
    @classmethod
    def _instead_of_an_answer(cls, value: bool | None, info: Any) -> bool | None:
        if value and info.data.get("add_generation_prompt"):
            raise ValueError("it contradicts 'add_generation_prompt': a text goes on, or an answer begins")
        return value


class ChatRequest(Conversation, Generate):
    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "tools": ([],), "tool_choice": ("none", "auto"), "functions": ([],), "function_call": ("none", "auto"),
        "parallel_tool_calls": (True, False), "audio": (), "modalities": (["text"],), "prediction": (),
        "web_search_options": (), "reasoning_effort": ("none",), "verbosity": ("medium",), "store": (False,),
    }  # fmt: skip

    messages: Annotated[list[Message], Field(min_length=1)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] | None = None
    # They change nothing here.
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    # Refused by name, see above.
    tools: Any = None
    tool_choice: Any = None
    functions: Any = None
    function_call: Any = None
    parallel_tool_calls: Any = None
    audio: Any = None
    modalities: Any = None
    prediction: Any = None
    web_search_options: Any = None
    reasoning_effort: Any = None
    verbosity: Any = None
    store: Any = None

    @field_validator("top_logprobs")
    @classmethod
    def _with_logprobs(cls, value: int | None, info: Any) -> int | None:
        if value is not None and not info.data.get("logprobs"):
            raise ValueError("it may be given only when 'logprobs' is true")
        return value


Prompt = str | tuple[int, ...]


def _prompts(value: Any) -> Any:
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

    prompt: Annotated[tuple[Prompt, ...], BeforeValidator(_prompts)]
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
