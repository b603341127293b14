"""What models of each family write when they call `f` and then `g` with {"a": 3}."""

from __future__ import annotations

from gridstride.serve.answers.formats import FORMATS, CallFormat

ARGUMENTS = '{"a": 3}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TWO_CALLS = {
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"a": 3}}\n</tool_call>\n'
    '<tool_call>\n{"name": "g", "arguments": {"a": 3}}\n</tool_call>',
    "llama3": '{"name": "f", "parameters": {"a": 3}}; {"name": "g", "parameters": {"a": 3}}',
    "mistral": '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 3}}, {"name": "g", "arguments": {"a": 3}}]',
    "mistral-args": '[TOOL_CALLS]f[ARGS]{"a": 3}[TOOL_CALLS]g[ARGS]{"a": 3}',
}
BY_NAME: dict[str, CallFormat] = {each.name: each for each in FORMATS}
