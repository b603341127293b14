"""Guessed tokens change how many steps a text takes, and nothing of the text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake_runner import FakeRunner, expected, repeating, run, submit, tokens
from tiny import CONTEXT, VOCABULARY, write_model

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.client.output import RequestOutput
from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.grammar import Grammars
from gridstride.serve.engine.messages import Stats, Update
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.engine.speculation import Speculation
from gridstride.serve.process.build import engine as build
from gridstride.serve.process.engine_options import EngineOptions
from gridstride.serve.runner.torch.torch_runner import TorchRunner

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=160)
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {"head_norm": True, "tied": True},
    "gpt2": {
        "kv_heads": 4, "rotary_base": None, "tied": True, "qkv_bias": True, "output_bias": True, "mlp_bias": True,
        "norm": "layer", "activation": "gelu_tanh",
    },
}  # fmt: skip
PROMPTS = {
    "a": [1, 2, 3], "b": [*range(9)] * 4, "c": [7] * 20, "d": [9], "e": [*range(9)] * 4 + [3, 5], "f": [*range(40)],
}  # fmt: skip
GREEDY, DRAWN = {"temperature": 0.0}, {"temperature": 0.25}


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def decoder(family: str) -> Decoder:
    torch.manual_seed(2)
    made = Decoder(replace(CONFIG, family=family, **FAMILIES[family])).eval()
    with torch.no_grad():
        made.lm_head.weight.mul_(4)  # so that a drawn text repeats itself, too
    return made


def served(
    speculation: Speculation | None, *, family: str = "llama", ids: str = "abcdef", blocks: int = 300,
    options: dict[str, Any] | None = None, draft: str | None = None, **wishes: Any,
) -> tuple[dict[str, list[Update]], Stats]:  # fmt: skip
    """What these prompts get when they are served together."""
    runner = TorchRunner(decoder(family), blocks=blocks, block_size=4)
    small = TorchRunner(decoder(draft), blocks=blocks, block_size=4) if draft else None
    engine = Engine(
        runner,
        Batching(**{"max_running": 8, "max_batch_tokens": 48} | (options or {})),
        speculation=speculation,
        draft=small,
    )
    for id in ids:
        engine.submit(submit(id, PROMPTS[id], **{"max_tokens": 60, "seed": ord(id), **wishes}))
    return run(engine), engine.stats()


def texts(found: dict[str, list[Update]]) -> dict[str, list[int]]:
    return {id: tokens(updates) for id, updates in found.items()}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("wishes", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_texts_are_the_same_with_it_and_without_in_fewer_updates(family: str, wishes: dict[str, Any]) -> None:
    plain, _ = served(None, family=family, **wishes)
    guessed, stats = served(Speculation(), family=family, **wishes)
    assert texts(guessed) == texts(plain)
    assert stats.accepted_tokens > 20
    assert sum(map(len, guessed.values())) == sum(map(len, plain.values())) - stats.accepted_tokens


@pytest.mark.parametrize(
    "wishes",
    [
        GREEDY | {"presence_penalty": 0.3, "frequency_penalty": 0.1},
        DRAWN | {"repetition_penalty": 1.02, "top_k": 20},
        GREEDY | {"logit_bias": {7: 1.0}},
        DRAWN | {"top_p": 0.9, "min_p": 0.01},
        GREEDY | {"min_tokens": 30, "stop_tokens": frozenset(range(0, 61, 2))},
        GREEDY | {"max_tokens": 23},
        {"temperature": 1.5},
    ],
)  # fmt: skip
def test_every_wish_of_a_request_holds(wishes: dict[str, Any]) -> None:
    assert texts(served(Speculation(), **wishes)[0]) == texts(served(None, **wishes)[0])


def test_log_probabilities_come_for_each_accepted_token() -> None:
    plain, _ = served(None, **GREEDY, logprobs=2)
    guessed, stats = served(Speculation(), **GREEDY, logprobs=2)
    assert stats.accepted_tokens > 20
    for id in PROMPTS:
        ours, theirs = ([p for u in found[id] for p in u.logprobs or ()] for found in (guessed, plain))
        assert [[t for t, _ in p.top] for p in ours] == [[t for t, _ in p.top] for p in theirs]
        assert [p.own for p in ours] == pytest.approx([p.own for p in theirs], abs=1e-4)


def test_log_probabilities_of_a_prompt_are_the_same() -> None:
    plain, _ = served(None, **GREEDY, prompt_logprobs=0)
    guessed, _ = served(Speculation(), **GREEDY, prompt_logprobs=0)
    assert texts(guessed) == texts(plain)
    for id in PROMPTS:
        ours, theirs = (found[id][0].prompt_logprobs or () for found in (guessed, plain))
        assert [p.own for p in ours] == pytest.approx([p.own for p in theirs], abs=1e-4)


@pytest.mark.parametrize("options", [{"prefix_reuse": False}, {"max_batch_tokens": 8}, {"policy": "static"}])
def test_it_goes_with_every_way_to_share_steps_and_blocks(options: dict[str, Any]) -> None:
    plain, _ = served(None, **GREEDY)
    guessed, stats = served(Speculation(), **GREEDY, options=options)
    assert texts(guessed) == texts(plain)
    assert stats.accepted_tokens > 20


def test_sequences_that_give_way_come_back_with_the_same_texts() -> None:
    plain, _ = served(None, **GREEDY)
    guessed, stats = served(Speculation(), **GREEDY, blocks=50)
    assert stats.preemptions > 0
    assert stats.accepted_tokens > 20
    assert texts(guessed) == texts(plain)


@pytest.mark.parametrize("wishes", [GREEDY, DRAWN, {"temperature": 1.0}, DRAWN | {"presence_penalty": 0.3}])
@pytest.mark.parametrize("draft", ["llama", "qwen3"], ids=["one that is always right", "one that is mostly wrong"])
def test_a_draft_model_changes_no_text(draft: str, wishes: dict[str, Any]) -> None:
    plain, _ = served(None, **wishes)
    guessed, stats = served(Speculation("draft"), draft=draft, **wishes)
    assert texts(guessed) == texts(plain)
    if draft == "llama":
        assert stats.accepted_tokens == stats.draft_tokens > 200
    assert texts(served(Speculation("draft"), draft=draft, blocks=50, **wishes)[0]) == texts(plain)


@pytest.mark.parametrize("tokens", [1, 3, 16])
def test_texts_do_not_hang_on_how_much_is_guessed(tokens: int) -> None:
    assert texts(served(Speculation(tokens=tokens), **DRAWN)[0]) == texts(served(None, **DRAWN)[0])


# -- what a folder has: a grammar, text to stop at --------------------------------------------------------------------
@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("served") / "tiny")


def of_folder(place: Path, speculation: Speculation | None, **wishes: Any) -> tuple[list[Update], Stats]:
    eos = Tokenizer.load(place).eos
    grammars = Grammars(place, vocabulary=VOCABULARY, eos=eos)
    runner = TorchRunner(folder.load(place), blocks=CONTEXT // 4, block_size=4)
    engine = Engine(runner, eos=eos, grammars=grammars, speculation=speculation)
    engine.submit(submit("a", [9, 12], **{"max_tokens": 100, **wishes}))
    return run(engine)["a"], engine.stats()


@pytest.mark.parametrize("schema", ["regex:(abc, ){12}end", "regex:[a-d]{60}", '{"type": "array", "minItems": 9}'])
def test_a_text_bound_to_a_grammar_is_the_same(place: Path, schema: str) -> None:
    plain, before = of_folder(place, None, schema=schema, seed=3)
    guessed, after = of_folder(place, Speculation(), schema=schema, seed=3)
    assert tokens(guessed) == tokens(plain)
    assert [update.error for update in guessed if update.error] == []
    if "abc" in schema:  # nothing else may come
        assert after.accepted_tokens > 10
        assert after.steps < before.steps


def test_a_stop_string_within_accepted_tokens_ends_the_text_there(place: Path) -> None:
    updates, stats = of_folder(place, Speculation(), schema="regex:(abc, ){12}end")
    output = RequestOutput(Tokenizer.load(place), ["c, abc, abcx", "c, end"], stop_tokens=frozenset())
    assert stats.accepted_tokens > 10
    assert "".join(output.push(update).text for update in updates) == "abc, " * 11 + "ab"


# -- over a runner whose cache holds what was written -----------------------------------------------------------------
def fake(runner: FakeRunner, *prompts: list[int], **wishes: Any) -> tuple[Engine, dict[str, list[Update]]]:
    engine = Engine(runner, Batching(max_running=4, max_batch_tokens=32), speculation=Speculation())
    for number, prompt in enumerate(prompts):
        engine.submit(submit(str(number), prompt, **{"max_tokens": 60, **wishes}))
    return engine, run(engine)


def roomy(kind: type[FakeRunner] = FakeRunner, **options: Any) -> FakeRunner:
    return kind(**{"blocks": 100, "context": 200, "text": repeating} | options)


TEXT = expected([1, 2, 3, 4], Sampling(max_tokens=60), text=repeating)


def test_several_tokens_come_in_one_update() -> None:
    runner = roomy()
    engine, found = fake(runner, [1, 2, 3, 4])
    assert tokens(found["0"]) == TEXT
    assert max(len(update.tokens) for update in found["0"]) > 4
    assert engine.stats().steps == len(runner.batches) < 40


@pytest.mark.parametrize("length", range(20, 40))
def test_the_wished_length_ends_a_text_within_accepted_tokens(length: int) -> None:
    _, found = fake(roomy(), [1, 2, 3, 4], max_tokens=length)
    assert tokens(found["0"]) == TEXT[:length]
    assert found["0"][-1].finish == "length"


@pytest.mark.parametrize("stop", sorted({*TEXT[10:]}))
def test_a_stop_token_ends_a_text_within_accepted_tokens(stop: int) -> None:
    _, found = fake(roomy(), [1, 2, 3, 4], stop_tokens=frozenset({stop}))
    assert tokens(found["0"]) == TEXT[: TEXT.index(stop) + 1]
    assert found["0"][-1].finish == "stop"


def test_guesses_take_no_more_than_the_budget_leaves() -> None:
    runner = roomy()
    fake(runner, *([[i, 2, 3, 4] * 9 for i in range(6)]))
    assert max(len(batch.tokens) for batch in runner.batches) <= 32


def test_guesses_take_blocks_from_nobody() -> None:
    engine, found = fake(roomy(blocks=8), [1, 2, 3, 4], [2, 2, 3], max_tokens=12)  # each fills four
    assert engine.stats().preemptions == 0
    assert tokens(found["0"]) == TEXT[:12]


class Unsteady(FakeRunner):
    """Where several rows of a sequence are drawn from, something is wrong with them."""

    how = "not finite"

    def execute(self, batch: Batch) -> Sampled:
        sampled = super().execute(batch)
        wrong = len(batch.sampled) > len(batch.lengths)
        if wrong and self.how == "raises":
            raise RuntimeError("too much")
        return Sampled(np.full_like(sampled.tokens, -1), sampled.logprobs) if wrong else sampled


class Raising(Unsteady):
    how = "raises"


@pytest.mark.parametrize("kind", [Unsteady, Raising])
def test_a_guess_that_goes_wrong_costs_no_request_its_text(kind: type[FakeRunner]) -> None:
    engine, found = fake(roomy(kind), [1, 2, 3, 4])
    assert tokens(found["0"]) == TEXT
    assert found["0"][-1].finish == "length"
    assert engine.stats().accepted_tokens == 0
    assert engine.failed_steps == 0


class OneByOne(FakeRunner):
    verifies = False
    code = RunnerCode("pytorch", "")


def test_a_runner_that_cannot_verify_is_refused_at_the_start() -> None:
    Engine(OneByOne())
    with pytest.raises(ValueError, match=r"this runner does not.*leave it out"):
        Engine(OneByOne(), speculation=Speculation())


@pytest.mark.parametrize(
    ("speculation", "draft", "message"),
    [(Speculation("draft"), None, "by draft without a draft model"), (Speculation(), FakeRunner(), "by ngram with a")],
)
def test_a_draft_model_and_its_method_belong_together(
    speculation: Speculation, draft: FakeRunner | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Engine(FakeRunner(), speculation=speculation, draft=draft)


@pytest.mark.parametrize("speculation", [Speculation(), Speculation("draft", 4)])
def test_the_engine_of_a_folder_guesses_as_it_is_told(place: Path, speculation: Speculation) -> None:
    draft = str(place) if speculation.method == "draft" else None
    engine, _ = build(
        str(place),
        EngineOptions(device="cpu", memory=1 << 20, max_running=4, speculation=speculation, draft=draft),
    )
    engine.submit(submit("a", [9, 12], schema="regex:(abc, ){12}end", temperature=0.0, max_tokens=90))
    updates = run(engine)["a"]
    assert Tokenizer.load(place).decode(tokens(updates)[:-1]) == "abc, " * 12 + "end"
    assert engine.stats().accepted_tokens > 20
