"""What the answers to a chat may hold, and the grammar that sees to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.answers.formats import CallFormat, Marks
from gridstride.serve.answers.grammar import Calls, SpecialId, Thoughts, grammar
from gridstride.serve.answers.reader import AnswerReader
from gridstride.serve.engine.grammar import OPTIONS
from gridstride.serve.engine.references import endless
from gridstride.serve.engine.unions import told_apart
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.prepare import Manner, Prepare, Prompt
from gridstride.serve.http.requests.generate import ChatRequest
from gridstride.serve.http.requests.tools import NamedTool, Tool
from gridstride.serve.http.sampling import binding_field, schema_of
from gridstride.serve.process.protocol import Ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """How the answers to one request are bound and read."""

    schema: str | None  # as `Sampling.schema` has it
    at_fault: str  # of the request, which is at fault where the schema is
    calls: CallFormat | None
    thoughts: Marks | None
    begun: bool  # the prompt ends within thoughts
    prompt: tuple[int, ...]
    shown: frozenset[int] = field(default_factory=frozenset)  # special tokens that are marks
    named: bool = False  # one function was asked for by its name

    def reader(self) -> AnswerReader:
        """Of one answer."""
        return AnswerReader(format=self.calls, thoughts=self.thoughts, begun=self.begun)


def offered(request: ChatRequest, manner: Manner, ready: Ready) -> Sequence[Tool]:
    """The tools that the model is told of; refused where it cannot call any."""
    if not request.tools or request.tool_choice == "none":
        return ()
    if manner.calls is None:
        message = "The model's chat template has no tools, or writes their calls in a form that is not known here."
        raise ApiError(message, param="tools", code="unsupported_parameter")
    if not ready.schemas:
        message = "'tools' are not supported by this engine, which cannot bind arguments to a schema."
        raise ApiError(message, param="tools", code="unsupported_parameter")
    return request.tools


def answering(request: ChatRequest, prompt: Prompt, tools: Sequence[Tool], prepare: Prepare, ready: Ready) -> Answering:
    """What binds the answers to a prompt, and how they are read."""
    manner = prepare.manner
    thoughts = _thoughts(request, prompt, manner)
    calls = _calls(request, tools, manner)
    bound = schema_of(request, ready)
    content = _object(bound)
    if calls is not None and bound is not None and content is None:
        message = f"'{binding_field(request)}' beside 'tools' can be a JSON schema alone."
        raise ApiError(message, param=binding_field(request), code="invalid_value")
    if content is not None and (reference := endless(content)) is not None:
        message = f"The JSON schema cannot be used: {reference} refers to itself alone."
        raise ApiError(message, param=binding_field(request), code="invalid_value")
    special, schema = _special(prepare.tokenizer), bound
    if calls is not None or (content is not None and thoughts is not None):
        schema = "lark:" + grammar(calls=calls, thoughts=thoughts, content=content, id=special)
    marks = [] if calls is None else [*calls.format.marks]
    marks += [] if thoughts is None else [thoughts.marks.opening, thoughts.marks.closing]
    return Answering(
        schema=schema,
        at_fault=binding_field(request) if calls is None else "tools",
        calls=None if calls is None else calls.format,
        thoughts=None if thoughts is None else thoughts.marks,
        begun=thoughts is not None and thoughts.begun,
        prompt=prompt.tokens,
        shown=frozenset(id for mark in marks if (id := special(mark)) is not None),
        named=isinstance(request.tool_choice, NamedTool),
    )


def blame(error: ApiError, request: ChatRequest, tools: Sequence[Tool]) -> None:
    """Have an error of the answer's grammar say whose schema cannot be used, as far as no tokenizer is needed."""
    from llguidance import LLMatcher

    for number, tool in enumerate(tools):
        schema = json.dumps(told_apart(tool.function.schema_))
        if reason := LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(schema, overrides=OPTIONS)):
            error.param = f"tools[{number}].function.parameters"
            error.message = f"The JSON schema of the tool '{tool.function.name}' cannot be used: {reason.rstrip('.')}."
            return
    format = request.response_format
    bound = bool(request.structured) or (format is not None and format.type == "json_schema")
    error.param = binding_field(request) if bound else "tools"


def _thoughts(request: ChatRequest, prompt: Prompt, manner: Manner) -> Thoughts | None:
    """Where the prompt has ended the thoughts already, or goes on with what is said, none come."""
    marks = manner.thoughts
    if marks is None:
        return None
    if request.continue_final_message:
        last = (request.messages[-1].text).rpartition(marks.closing)[2]
        return Thoughts(marks, begun=True) if marks.opening in last else None
    end = prompt.text.rstrip()
    return None if end.endswith(marks.closing) else Thoughts(marks, begun=end.endswith(marks.opening))


def _calls(request: ChatRequest, tools: Sequence[Tool], manner: Manner) -> Calls | None:
    if not tools:
        return None
    assert manner.calls is not None
    choice = request.tool_choice
    named = None if choice is None or isinstance(choice, str) else choice
    several = request.parallel_tool_calls is not False and not manner.one_call and not isinstance(named, NamedTool)
    functions = [tool.function for tool in tools if named is None or tool.function.name in named.names]
    return Calls(
        format=manner.calls,
        tools=[(function.name, function.schema_) for function in functions],
        must=(choice if named is None else named.mode) == "required",
        several=several,
    )


def _object(schema: str | None) -> dict[str, Any] | None:
    """The JSON schema among what can bind a text; what is wrong with one is the engine's to say."""
    if schema is None or schema.partition(":")[0] in ("regex", "lark"):
        return None
    try:
        value: Any = json.loads(schema or '{"type": "object"}')
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _special(tokenizer: Tokenizer) -> SpecialId:
    """Of a mark that the model writes as one token: Qwen's are added ones that are not called special."""

    def id_of(mark: str) -> int | None:
        id = tokenizer.id(mark)
        return id if id in tokenizer.added else None

    return id_of
