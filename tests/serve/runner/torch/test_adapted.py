"""Several adapters in one batch: each request gets what its adapter gives alone, and what the merged model gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fake_runner import run, submit, tokens
from tiny import VOCABULARY, write_model

from gridstride.models import lora
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import adapter as adapters
from gridstride.models.huggingface import folder
from gridstride.models.lora import LoraConfig
from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.engine.speculation import Speculation
from gridstride.serve.runner import build
from gridstride.serve.runner.torch.torch_runner import TorchRunner

PROMPTS = {"a": [5, 9, 12, 40], "b": list(range(20, 50)), "c": [7] * 20, "d": [9]}
TARGETS = {1: ("q_proj", "v_proj"), 2: tuple("q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split())}


def write_adapter(base: Path, target: Path, number: int) -> Path:
    """Of random weights, large enough to change what is said; each of its own rank and layers."""
    decoder = folder.load(base)
    config = LoraConfig(rank=4 * number, alpha=8.0, targets=TARGETS[number])
    torch.manual_seed(number)
    lora.add(decoder, config)
    for layer in lora.updated(decoder).values():
        torch.nn.init.normal_(layer.lora_B, std=0.5)
    adapters.save(decoder, target, base=base, lora=config, files={})
    return target


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served") / "base"
    write_model(place)
    for number in (1, 2):
        write_adapter(place, place.parent / f"adapter{number}", number)
    return place


def engine(
    base: Path, *, blocks: int = 200, numbers: tuple[int, ...] = (1, 2), merged: int = 0,
    speculation: Speculation | None = None,
) -> Engine:  # fmt: skip
    """With these adapters; or the model with one merged into its weights."""
    decoder = folder.load(base)
    found = [adapters.read(base.parent / f"adapter{number}", base) for number in numbers]
    if merged:
        adapters.apply(decoder, found[numbers.index(merged)])
        weights, decoder, found = lora.merged(decoder), folder.load(base), []
        decoder.load_state_dict(weights)
    runner = TorchRunner(decoder, blocks=blocks, block_size=4, adapters=found)
    return Engine(runner, Batching(max_running=16, max_batch_tokens=40), speculation=speculation)


def said(made: Engine, *wanted: tuple[str, int], temperature: float = 0.0) -> dict[tuple[str, int], list[int]]:
    """Tokens of these prompts with these adapters, all at once."""
    for prompt, number in wanted:
        id = f"{prompt}{number}"
        made.submit(
            submit(id, PROMPTS[prompt], adapter=number, max_tokens=24, temperature=temperature, seed=ord(prompt))
        )
    found = run(made)
    return {(prompt, number): tokens(found[f"{prompt}{number}"]) for prompt, number in wanted}


EVERY = tuple((prompt, number) for prompt in PROMPTS for number in (0, 1, 2))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch_of_all_gives_each_what_it_gets_alone(base: Path, temperature: float) -> None:
    together = said(engine(base), *EVERY, temperature=temperature)
    for one in EVERY:
        assert together[one] == said(engine(base), one, temperature=temperature)[one]
    assert together == said(engine(base, blocks=40), *reversed(EVERY), temperature=temperature)  # with preemptions


def test_guessed_tokens_change_no_adapters_text(base: Path) -> None:
    guessing = engine(base, speculation=Speculation())
    assert said(guessing, *EVERY) == said(engine(base), *EVERY)
    assert guessing.stats().accepted_tokens > 0


def test_an_adapter_says_what_the_model_with_it_merged_says(base: Path) -> None:
    together = said(engine(base), *EVERY)
    for number in (1, 2):
        merged = said(engine(base, merged=number), *((prompt, 0) for prompt in PROMPTS))
        assert {prompt: merged[prompt, 0] for prompt in PROMPTS} == {
            prompt: together[prompt, number] for prompt in PROMPTS
        }
    plain = said(engine(base, numbers=()), *((prompt, 0) for prompt in PROMPTS))
    assert plain == {one: together[one] for one in EVERY if one[1] == 0}
    assert len({tuple(together["b", number]) for number in (0, 1, 2)}) == 3


def test_cached_prefixes_are_shared_within_an_adapter_alone(base: Path) -> None:
    made = engine(base)
    first = said(made, ("b", 1))
    assert made.stats().prefix_hits == 0
    assert said(made, ("b", 2), ("b", 0)) == said(engine(base), ("b", 2), ("b", 0))
    assert made.stats().prefix_hits == 0
    assert said(made, ("b", 1)) == first
    assert made.stats().prefix_hits == 28


def test_an_adapter_that_is_not_there_is_refused(base: Path) -> None:
    with pytest.raises(Refused, match="there is no adapter 3: this engine has 2"):
        engine(base).submit(submit("x", [1], adapter=3))
    with pytest.raises(Refused, match="there is no adapter 1: this engine has none"):
        engine(base, numbers=()).submit(submit("x", [1], adapter=1))


def test_adapters_are_read_before_the_model(base: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "other", context=64)
    torch.manual_seed(5)
    decoder = folder.load(tmp_path / "other")
    decoder.embed_tokens.weight.data.normal_()
    folder.save(decoder, tmp_path / "other")
    with pytest.raises(ModelError, match="was trained on other weights"):
        build.runner(tmp_path / "other", build.RunnerOptions(adapters=[base.parent / "adapter1"]))
    with pytest.raises(ModelError, match="leave --tensor-parallel-size out, or merge the adapter"):
        build.runner(base, build.RunnerOptions(adapters=[base.parent / "adapter1"], tensor_parallel=2))
    made = build.runner(
        base, build.RunnerOptions(memory=1 << 20, adapters=[base.parent / "adapter1", base.parent / "adapter2"])
    )
    assert (made.adapters, made.vocabulary) == (2, VOCABULARY)
