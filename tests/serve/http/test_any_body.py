"""Whatever a body says, it is answered or refused with the field at fault: nothing of it is a server's error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live import Live, real
from templates import HERMES
from tiny import write_model

NAMES = (
    "type function name parameters description strict object string $ref # properties required items enum role user "
    "tool assistant system content text input_text output_text tool_calls tool_call_id call_id id arguments {} auto "
    "none json_schema json_object schema format message function_call function_call_output reasoning output a"
)
WORDS = st.sampled_from(NAMES.split())
THINGS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats(-1, 3, allow_nan=False) | WORDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def some(**optional: Any) -> Any:
    """Objects with some of these fields, and now and then another thing in one of them."""
    return st.fixed_dictionaries({}, optional={name: THINGS | each | each | each for name, each in optional.items()})


ID, TEXT, JSON = st.sampled_from(["c", "d"]), st.sampled_from(["", "hi"]), st.sampled_from(["{}", '{"a": 1}', "[", ""])
SCHEMA = some(type=st.sampled_from(["object", "string"]), properties=some(a=some(type=st.just("integer")), b=THINGS))
CALL = some(id=ID, type=st.just("function"), function=some(name=ID, arguments=JSON))
ROLE = st.sampled_from(["user", "assistant", "tool", "system"])
LIKELY = {
    "messages": st.lists(
        some(role=ROLE, content=TEXT, tool_call_id=ID, tool_calls=st.lists(CALL, max_size=2)), max_size=4
    ),
    "tools": st.lists(
        some(type=st.just("function"), function=some(name=ID, parameters=SCHEMA), name=ID, parameters=SCHEMA),
        max_size=2,
    ),
    "tool_choice": st.sampled_from(["auto", "none", "required"])
    | some(type=st.just("function"), function=some(name=ID), name=ID),
    "input": st.lists(
        some(type=WORDS, role=ROLE, content=TEXT, call_id=ID, name=ID, arguments=JSON, output=TEXT), max_size=4
    ),
}
FIELDS = {
    "chat/completions": "messages tools tool_choice parallel_tool_calls response_format guided_json structured_outputs "
    "chat_template_kwargs prompt_logprobs logprobs top_logprobs n stop logit_bias reasoning_effort "
    "continue_final_message",
    "completions": "prompt echo logprobs prompt_logprobs best_of n response_format guided_choice stop_token_ids",
    "responses": "input instructions tools tool_choice text parallel_tool_calls max_output_tokens include reasoning",
    "embeddings": "input dimensions encoding_format",
    "rerank": "query documents top_n return_documents",
    "score": "text_1 text_2",
}
SOUND = {
    "chat/completions": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2},
    "completions": {"prompt": "a", "max_tokens": 2},
    "responses": {"input": "hi", "max_output_tokens": 2},
    "embeddings": {"input": "a"},
    "rerank": {"query": "a", "documents": ["a"]},
    "score": {"text_1": "a", "text_2": "a"},
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = write_model(tmp_path_factory.mktemp("served") / "tiny", template=HERMES)
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 2MiB".split()) as live:
        yield live


@pytest.mark.parametrize("path", FIELDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_body_is_answered_or_refused(live: Live, path: str, data: st.DataObject) -> None:
    fields = data.draw(st.sets(st.sampled_from(FIELDS[path].split()), max_size=3))
    changed: dict[str, Any] = {name: data.draw(LIKELY.get(name, THINGS)) for name in sorted(fields)}
    response = live.post(f"/v1/{path}", {"model": "fake", **SOUND[path], **changed})
    assert response.status_code in (200, 400), (changed, response.text)
    if response.status_code == 400:
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}
