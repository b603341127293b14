"""Text bound to a JSON schema: valid whenever it ends by itself, and a bad schema is its own request's affair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import torch
from fake_runner import run, submit, tokens
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import VOCABULARY, write_tokenizer

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.batch import Batch, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.grammar import Grammar, GrammarError, Grammars
from gridstride.serve.engine.messages import Update
from gridstride.serve.runner.torch.sampler import sample


class Chatter:
    """A runner whose model says anything with like chance."""

    blocks, block_size, context, vocabulary, steps, steps_alone = 400, 8, 2048, VOCABULARY + 5, 4, 4
    adapters = 0

    def __init__(self) -> None:
        self._generator = torch.Generator().manual_seed(0)

    def execute(self, batch: Batch) -> Sampled:
        logits = torch.randn(len(batch.draws), self.vocabulary, generator=self._generator)
        if batch.steps > 1:
            assert all(draw.mask is None for draw in batch.draws)
            return Sampled(logits.topk(batch.steps).indices.numpy(), (None,) * len(batch.draws))
        return sample(logits, batch.draws)


@cache
def folder() -> Path:
    made = Path(mkdtemp())
    write_tokenizer(made)
    return made


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.load(folder())


def engine() -> Engine:
    eos = tokenizer().eos
    return Engine(Chatter(), eos=eos, grammars=Grammars(folder(), vocabulary=Chatter.vocabulary, eos=eos))


def text(updates: list[Update]) -> str:
    said = tokens(updates)
    return tokenizer().decode(said[:-1] if updates[-1].finish == "stop" else said)


def scalar(kind: str, check: Callable[[Any], bool], **rules: Any) -> st.SearchStrategy[Any]:
    return st.just(({"type": kind, **rules}, check))


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 99


def array(item: tuple[dict[str, Any], Callable[[Any], bool]]) -> tuple[dict[str, Any], Callable[[Any], bool]]:
    schema = {"type": "array", "items": item[0], "minItems": 1, "maxItems": 3}
    return schema, lambda value: isinstance(value, list) and 1 <= len(value) <= 3 and all(map(item[1], value))


def record(parts: dict[str, Any]) -> tuple[dict[str, Any], Callable[[Any], bool]]:
    properties = {name: part[0] for name, part in parts.items()}
    schema = {"type": "object", "properties": properties, "required": list(parts), "additionalProperties": False}
    return schema, lambda value: value.keys() == parts.keys() and all(parts[k][1](v) for k, v in value.items())


SCHEMAS = st.recursive(
    st.one_of(
        scalar("integer", is_integer, minimum=0, maximum=99),
        scalar("boolean", lambda value: isinstance(value, bool)),
        scalar("null", lambda value: value is None),
        scalar("string", lambda value: isinstance(value, str) and len(value) <= 4, maxLength=4),
        st.just(({"enum": ["é", "b c", 7]}, lambda value: value in ("é", "b c", 7))),
    ),
    lambda inner: st.one_of(
        inner.map(array), st.dictionaries(st.sampled_from(["a", "naïve", "x y"]), inner, min_size=1).map(record)
    ),
    max_leaves=4,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(SCHEMAS, min_size=1, max_size=3))
def test_what_ends_by_itself_is_valid(cases: list[tuple[dict[str, Any], Callable[[Any], bool]]]) -> None:
    serving = engine()
    for i, (schema, _) in enumerate(cases):
        serving.submit(submit(str(i), [3], max_tokens=600, schema=json.dumps(schema)))
    serving.submit(submit("free", [3], max_tokens=40))  # others are not bound
    found = run(serving)
    for i, (_, fits) in enumerate(cases):
        updates = found[str(i)]
        assert updates[-1].finish in ("stop", "length"), updates[-1].error
        if updates[-1].finish == "stop":
            assert fits(json.loads(text(updates))), text(updates)


@pytest.mark.parametrize("schema", [{"type": "null"}, {"type": "boolean"}, {"enum": ["a", "b"]}])
def test_what_can_be_no_longer_ends_by_itself(schema: dict[str, Any]) -> None:
    serving = engine()
    serving.submit(submit("a", [3], max_tokens=600, schema=json.dumps(schema)))
    assert run(serving)["a"][-1].finish == "stop"


def test_any_object_where_no_schema_is_named() -> None:
    serving = engine()
    for i in range(12):
        serving.submit(submit(str(i), [3], max_tokens=300, schema="", seed=i))
    ended = [text(updates) for updates in run(serving).values() if updates[-1].finish == "stop"]
    assert ended
    assert all(isinstance(json.loads(each), dict) for each in ended)


def test_length_may_cut_it() -> None:
    serving = engine()
    serving.submit(submit("a", [3], max_tokens=4, schema='{"type": "string", "minLength": 50}'))
    (updates,) = run(serving).values()
    assert updates[-1].finish == "length"
    assert text(updates).startswith('"')


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("{", "no JSON"),
        ('{"a":' * 100_000, "no JSON: maximum recursion depth"),
        ('{"items":' * 900 + "{}" + "}" * 900, "recursion limit"),
        ("[1]", "is list, but must be an object"),
        ('{"type": "bogus"}', "Invalid type: bogus"),
        ('{"$ref": "#/nope"}', "does not exist"),
        ('{"type": "string", "pattern": "(a"}', "unclosed group"),
        ('{"type": "integer", "minimum": 5, "maximum": 3}', "greater than maximum"),
        ('{"unevaluatedProperties": false}', "Unimplemented"),
    ],
)
def test_a_bad_schema_refuses_its_own_request(schema: str, reason: str) -> None:
    serving = engine()
    serving.submit(submit("good", [3], max_tokens=200, schema='{"type": "boolean"}'))
    with pytest.raises(Refused, match=reason) as refused:
        serving.submit(submit("bad", [3], schema=schema))
    assert refused.value.field == "schema"
    assert json.loads(text(run(serving)["good"])) in (True, False)


def test_a_schema_needs_an_end_token_and_the_will_to_end() -> None:
    with pytest.raises(Refused, match="contradicts"):
        engine().submit(submit("a", [3], schema="", ignore_eos=True))
    endless = Engine(Chatter(), grammars=Grammars(folder(), vocabulary=Chatter.vocabulary, eos=frozenset()))
    with pytest.raises(Refused, match="no token that ends"):
        endless.submit(submit("a", [3], schema=""))
    with pytest.raises(Refused, match="does not constrain"):
        Engine(Chatter()).submit(submit("a", [3], schema=""))


def test_the_same_schema_is_compiled_once_and_its_texts_are_apart() -> None:
    grammars = Grammars(folder(), vocabulary=Chatter.vocabulary, eos=tokenizer().eos)
    first, second = grammars.start('{"const": 17}'), grammars.start('{"const": 17}')
    before = second.mask().tolist()
    first.take(tokenizer().encode("1")[0])
    assert second.mask().tolist() == before != first.mask().tolist()
    assert len(grammars._compiled) == 1


def schema_request(id: str, schema: str) -> Any:
    return submit(id, [1, 2], schema=schema, max_tokens=4)


def test_a_schema_that_says_nothing_but_itself_is_refused() -> None:
    with pytest.raises(Refused, match="the JSON schema cannot be used"):
        engine().submit(schema_request("a", '{"$ref": "#"}'))


def test_what_was_prepared_is_there_at_once() -> None:
    made = engine()
    request = schema_request("a", '{"type": "boolean"}')
    work = made.preparation(request)
    assert work is not None
    work()
    assert made.preparation(request) is None
    made.submit(request)


def test_a_bad_schema_is_refused_when_it_is_submitted_not_when_it_is_prepared() -> None:
    made = engine()
    request = schema_request("a", '{"type": "nonsense"}')
    work = made.preparation(request)
    assert work is not None
    work()
    for _ in range(2):
        with pytest.raises(Refused, match="nonsense"):
            made.submit(request)


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [("regex:[a-c]{3}x?", "[a-c]{3}x?"), ('lark:start: "yes" | "no"', "yes|no")],
)
def test_a_text_keeps_to_a_regex_or_a_grammar(schema: str, pattern: str) -> None:
    made = engine()
    for i in range(8):
        made.submit(submit(str(i), [1, i], schema=schema, max_tokens=40, seed=i))
    for updates in run(made).values():
        assert re.fullmatch(pattern, text(updates))


@pytest.mark.parametrize(
    "schema", ["regex:(", "lark:start: nothing", "regex:a{1000}{1000}", 'lark:start: "a"{1000000}']
)
def test_what_is_no_regex_or_grammar_is_refused(schema: str) -> None:
    with pytest.raises(Refused, match="cannot be used"):
        engine().submit(schema_request("a", schema))


def union(name: str, number: str) -> dict[str, Any]:
    kind = {"const": name, "default": name, "type": "string"}  # with a default: pydantic does not require it
    return {"type": "object", "properties": {"kind": kind, number: {"type": "integer"}}, "required": [number]}


UNION = {
    "$defs": {"C": union("c", "n"), "D": union("d", "m")},
    "type": "object", "required": ["pet"], "additionalProperties": False,
    "properties": {"pet": {
        "discriminator": {"mapping": {"c": "#/$defs/C", "d": "#/$defs/D"}, "propertyName": "kind"},
        "oneOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/D"}],
    }},
}  # fmt: skip


def spelled(schema: Any, text: str) -> bool:
    """Whether a text of this schema may be this one."""
    made = Grammars(folder(), vocabulary=VOCABULARY, eos=tokenizer().eos).start(json.dumps(schema))
    ids = tokenizer().encode(text)
    return made.fitting(ids) == ids


def test_a_discriminated_union_says_which_alternative_it_is() -> None:
    assert spelled(UNION, '{"pet": {"kind": "c", "n": 1}}')
    assert spelled(UNION, '{"pet": {"kind": "d", "m": 1}}')
    assert not spelled(UNION, '{"pet": {"n": 1')
    assert not spelled(UNION, '{"pet": {"kind": "d", "n": 1')


def test_alternatives_that_overlap_are_taken() -> None:
    overlapping = {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 3}, {"type": "null"}]}
    assert spelled(overlapping, "null")
    assert spelled(overlapping, "9")
    assert not spelled(overlapping, '"')


def test_a_text_that_comes_to_be_too_complex_is_its_own_requests_fault() -> None:
    """The model is well: health looks at the steps that failed."""
    made = engine()
    made.submit(submit("a", [1, 2], schema="lark:start: A B\nA: /[0-9]{4}/\nB: /a{1000}{1000}/", max_tokens=40))
    (updates,) = run(made).values()
    assert (updates[-1].finish, updates[-1].field) == ("error", "schema")
    assert "the text cannot go on by its schema" in str(updates[-1].error)
    assert made.failed_steps == 0


def test_what_no_token_spells_is_the_schemas_fault() -> None:
    class Empty:
        def compute_bitmask(self) -> bytes:
            return bytes(8)

        def is_error(self) -> bool:
            return False

    matcher: Any = Empty()
    with pytest.raises(GrammarError, match="no token of the model's spells what must come next"):
        Grammar(matcher).mask()


def test_no_text_ends_before_its_least_tokens() -> None:
    """Half of the vocabulary ends a text; without `min_tokens` none has eight."""
    made = engine()
    stops = frozenset(range(0, VOCABULARY, 2))
    for i in range(10):
        made.submit(submit(str(i), [1, i], stop_tokens=stops, min_tokens=8, max_tokens=50, seed=i))
    for updates in run(made).values():
        said = tokens(updates)
        assert len(said) > 8 or updates[-1].finish == "length"
        assert stops.isdisjoint(said[:8])


def test_a_schema_that_is_complete_ends_in_spite_of_the_least_tokens() -> None:
    made = engine()
    made.submit(submit("a", [1, 2], schema='lark:start: "a"', min_tokens=30, max_tokens=40))
    (updates,) = run(made).values()
    assert text(updates) == "a"


def test_more_tokens_at_least_than_at_most_are_refused() -> None:
    with pytest.raises(Refused, match="min_tokens is 9, but max_tokens is 4"):
        engine().submit(submit("a", [1, 2], min_tokens=9, max_tokens=4))


def test_tokens_are_looked_at_ahead_without_being_taken() -> None:
    grammar = Grammars(folder(), vocabulary=VOCABULARY, eos=tokenizer().eos).start("regex:a[bc]d")
    a, b, d = (tokenizer().encode(letter)[0] for letter in "abd")
    now = grammar.mask().tolist()
    masks = grammar.masks([a, b])
    assert [len(masks), masks[0].tolist()] == [3, now]
    assert grammar.mask_after([a, b]).tolist() == masks[2].tolist()
    assert grammar.mask().tolist() == now
    for token, mask in zip([a, b], masks[1:], strict=True):
        grammar.take(token)
        assert grammar.mask().tolist() == mask.tolist()
    assert grammar.fitting([d, d]) == [d]


def test_a_proposal_fits_up_to_what_must_not_come() -> None:
    grammar = Grammars(folder(), vocabulary=VOCABULARY, eos=tokenizer().eos).start("regex:a[bc]d")
    a, b, d = (tokenizer().encode(letter)[0] for letter in "abd")
    assert grammar.fitting([a, d, b]) == [a]
    assert grammar.fitting([b]) == []
