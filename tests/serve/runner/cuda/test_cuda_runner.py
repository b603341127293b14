"""The runner for GPUs against PyTorch's: the same code without graphs on a CPU, with them on a GPU."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch, Draw, Runner
from gridstride.serve.engine.engine import NOT_FINITE, Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.engine.speculation import Speculation
from gridstride.serve.runner.cuda import cuda_runner, prompt_keys
from gridstride.serve.runner.cuda.batch_parts import PassLimits
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner, GraphSizes
from gridstride.serve.runner.cuda.prompts import sized
from gridstride.serve.runner.torch.torch_runner import TorchRunner

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


SHAPES = {
    "llama": DecoderConfig(
        vocabulary=300, width=128, layers=2, heads=4, kv_heads=2, head_width=64, hidden=256, context=256,
    ),
    "qwen2": DecoderConfig(
        family="qwen2", vocabulary=300, width=96, layers=2, heads=3, kv_heads=1, head_width=64, hidden=80, context=256,
        qkv_bias=True,
    ),
    "qwen3": DecoderConfig(
        family="qwen3", vocabulary=300, width=128, layers=2, heads=2, kv_heads=2, head_width=128, hidden=256,
        context=256, tied=True, head_norm=True,
    ),
    "mistral": DecoderConfig(
        family="mistral", vocabulary=300, width=160, layers=2, heads=4, kv_heads=1, head_width=128, hidden=224,
        context=256, rotary_base=1_000_000.0,
    ),
    "phi3": DecoderConfig(
        family="phi3", vocabulary=300, width=192, layers=2, heads=3, kv_heads=3, head_width=64, hidden=128, context=256,
    ),
}  # fmt: skip


every_device = pytest.mark.parametrize("device", DEVICES)


every_shape = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts read their keys in the cache on a CPU, too, where prompt_attention is PyTorch's own."""
    monkeypatch.setattr(cuda_runner, "why_not_here", lambda *_: "")


def decoder(shape: str, dtype: torch.dtype = torch.float32) -> Decoder:
    torch.manual_seed(0)
    made = Decoder(SHAPES[shape]).eval()
    for p in made.parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, 1.0, 0.1)  # norms and biases that do something
    return made.to(dtype)


def generated(
    runner: Runner, wishes: list[Sampling], *, preempted: bool = False, speculation: Speculation | None = None
) -> dict[str, list[int]]:
    engine = Engine(runner, Batching(max_batch_tokens=64, max_running=8, ahead_from=1), speculation=speculation)
    draw = np.random.default_rng(1)
    for i, sampling in enumerate(wishes):
        prompt = tuple(map(int, draw.integers(0, 300, int(draw.integers(1, 90)))))
        engine.submit(Submit(id=str(i), prompt=prompt, sampling=sampling, arrived=0.0))
    tokens: dict[str, list[int]] = {str(i): [] for i in range(len(wishes))}
    while not engine.idle:
        for update in engine.step():
            assert update.error is None, update.error
            tokens[update.id] += update.tokens
    assert (engine.stats().preemptions > 0) == preempted
    assert (engine.stats().accepted_tokens > 0) == (speculation is not None)
    return tokens


@every_device
@every_shape
def test_greedy_tokens_are_the_torch_runners(shape: str, device: str) -> None:
    wishes = [Sampling(temperature=0.0, max_tokens=25 + i) for i in range(6)]
    model = decoder(shape)
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), wishes)
    assert (
        generated(
            CudaRunner(model, sizes=GraphSizes(buckets=(1, 2, 4, 8)), blocks=100, block_size=8, device=device), wishes
        )
        == expected
    )


@every_device
def test_drawn_tokens_are_the_torch_runners(device: str) -> None:
    wishes = [Sampling(temperature=0.8, seed=1), Sampling(top_k=20, seed=2), Sampling(top_p=0.8, min_p=0.01, seed=3)]
    model = decoder("llama")
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), wishes)
    assert generated(CudaRunner(model, blocks=100, block_size=8, device=device), wishes) == expected


@every_device
def test_what_a_graph_cannot_draw_goes_through_the_sampler(device: str) -> None:
    wishes = [Sampling(temperature=0.0, repetition_penalty=1.5), Sampling(temperature=0.0, logprobs=2)]
    model = decoder("llama")
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), wishes)
    assert generated(CudaRunner(model, blocks=100, block_size=8, device=device), wishes) == expected


MIXED = [
    Sampling(temperature=0.0, max_tokens=20),
    Sampling(temperature=0.0, max_tokens=20, presence_penalty=1.0),
    Sampling(temperature=0.7, max_tokens=12, seed=4),
    Sampling(temperature=0.0, max_tokens=20, logprobs=1),
    Sampling(temperature=0.0, max_tokens=9),
]


@every_device
@pytest.mark.parametrize(
    "sizes",
    [
        GraphSizes(buckets=(1, 2)),
        GraphSizes(prompts=(8, 16)),
        GraphSizes(prompts=()),
        GraphSizes(buckets=(3,), prompts=(64,)),
    ],
    ids=["more sequences than the largest bucket", "more tokens than the largest pass", "no passes", "few sizes"],
)
def test_tokens_do_not_hang_on_what_is_recorded(sizes: GraphSizes, device: str) -> None:
    model = decoder("llama")
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), MIXED)
    assert generated(CudaRunner(model, blocks=100, block_size=8, device=device, sizes=sizes), MIXED) == expected


PASSES = [GraphSizes(), GraphSizes(prompts=(8, 16)), GraphSizes(prompts=())]


@every_device
@pytest.mark.parametrize("sizes", PASSES, ids=["all", "small passes", "no passes"])
def test_guessed_tokens_are_verified_in_passes(sizes: GraphSizes, device: str) -> None:
    wishes = [replace(each, max_tokens=60) for each in MIXED]
    model = decoder("llama")
    with torch.no_grad():
        model.lm_head.weight.mul_(4)  # so that texts repeat themselves
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), wishes)
    runner = CudaRunner(model, blocks=100, block_size=8, device=device, sizes=sizes)
    assert generated(runner, wishes, speculation=Speculation()) == expected


@every_device
def test_passes_over_prompts_beyond_the_limits_of_one(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder("qwen3")
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), MIXED)
    monkeypatch.setattr(cuda_runner, "PASS", PassLimits(tokens=16, keys=100, sequences=2))
    assert generated(CudaRunner(model, blocks=100, block_size=8, device=device), MIXED) == expected


@pytest.mark.usefixtures("paged")
@pytest.mark.parametrize("sizes", PASSES, ids=["all", "small passes", "no passes"])
@every_shape
def test_keys_of_prompts_read_in_the_cache_give_the_same_tokens(shape: str, sizes: GraphSizes) -> None:
    model = decoder(shape)
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), MIXED)
    runner = CudaRunner(model, blocks=100, block_size=8, sizes=sizes)
    runner.warm(5)
    assert generated(runner, MIXED) == expected
    assert not any(size.keys for size in runner._prompts)  # what is recorded does not hang on them


@pytest.mark.usefixtures("paged")
def test_guessed_tokens_are_verified_over_keys_in_the_cache() -> None:
    test_guessed_tokens_are_verified_in_passes(GraphSizes(prompts=(8, 16)), "cpu")


@pytest.mark.usefixtures("paged")
def test_chunks_behind_shared_prefixes_share_their_blocks() -> None:
    test_chunks_behind_shared_prefixes_read_them_from_the_cache("cpu")


@pytest.mark.usefixtures("paged")
def test_no_number_of_keys_divides_prompts_that_are_read_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_runner, "PASS", PassLimits(tokens=64, keys=1, sequences=8))
    runner = CudaRunner(decoder("llama"), blocks=100, block_size=8)
    many = batch_of([5, 9, 3])
    assert len(list(runner._parts(many))) == 1


def batch_of(counts: list[int]) -> Batch:
    """Fresh prompts, of which nothing is drawn."""
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return Batch(
        tokens=np.arange(starts[-1]), positions=np.arange(starts[-1]), slots=np.arange(starts[-1]), starts=starts,
        lengths=np.array(counts, np.int32), blocks=np.zeros((len(counts), 2), np.int32),
        sampled=np.zeros(0, np.int32), draws=(),
    )  # fmt: skip


@every_device
def test_sequences_that_gave_way_come_back_with_the_same_tokens(device: str) -> None:
    model = decoder("qwen2")
    wishes = [Sampling(temperature=0.0, max_tokens=50)] * 5
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), wishes)
    assert generated(CudaRunner(model, blocks=22, block_size=8, device=device), wishes, preempted=True) == expected


@every_device
def test_a_warm_runner_gives_the_same_tokens(device: str) -> None:
    model = decoder("llama")
    expected = generated(TorchRunner(copy.deepcopy(model), blocks=100, block_size=8), MIXED)
    runner = CudaRunner(
        model, sizes=GraphSizes(buckets=(1, 4, 8), prompts=(64, 128)), blocks=100, block_size=8, device=device
    )
    runner.warm(5)
    assert generated(runner, MIXED) == expected
    runner.warm(5)
    assert generated(runner, MIXED) == expected


@every_device
def test_chunks_behind_shared_prefixes_read_them_from_the_cache(device: str) -> None:
    model = decoder("llama")
    runner = CudaRunner(model, sizes=GraphSizes(prompts=(8, 16, 32)), blocks=100, block_size=8, device=device)
    engine, head = Engine(runner, Batching(max_batch_tokens=64, max_running=4)), tuple(range(50))
    found: dict[str, list[int]] = {}
    for id, tail in (("first", (7, 8)), ("again", (7, 8)), ("other", (9, 10, 11))):
        engine.submit(Submit(id=id, prompt=head + tail, sampling=Sampling(temperature=0.0), arrived=0.0))
        while not engine.idle:
            for update in engine.step():
                found.setdefault(update.id, []).extend(update.tokens)
    assert engine.stats().prefix_hits == 2 * 48
    assert found["first"] == found["again"]
    assert found["other"] == likeliest(model, (*head, 9, 10, 11), 16)


def likeliest(model: Decoder, prompt: tuple[int, ...], count: int) -> list[int]:
    """Greedy tokens by the whole model at each step."""
    tokens = list(prompt)
    model = copy.deepcopy(model).cpu()
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(model.logits(model(torch.tensor([tokens]))[0, -1]).argmax()))
    return tokens[len(prompt) :]


@every_device
def test_several_steps_in_one_call_are_those_of_single_calls(device: str) -> None:
    runner = CudaRunner(decoder("qwen3"), sizes=GraphSizes(buckets=(4,)), blocks=20, block_size=4, device=device)
    table = np.arange(15, dtype=np.int32).reshape(3, 5)

    def step(tokens: list[int], at: list[int], steps: int) -> np.ndarray:
        count = len(tokens)
        places = np.array(at)
        return runner.execute(
            Batch(
                tokens=np.array(tokens), positions=places, slots=table[np.arange(count), places // 4] * 4 + places % 4,
                starts=np.arange(count + 1, dtype=np.int32), lengths=(places + 1).astype(np.int32), blocks=table,
                sampled=np.arange(count, dtype=np.int32), draws=(Draw(Sampling(temperature=0.0), 0, (), ()),) * count,
                steps=steps,
            )
        ).tokens  # fmt: skip

    start, at = [5, 6, 7], [0, 0, 0]
    one_by_one, tokens = [], start
    for i in range(8):
        tokens = step(tokens, [i, i, i], 1)[:, 0].tolist()
        one_by_one.append(tokens)
    assert step(start, at, 8).T.tolist() == one_by_one


@every_device
@pytest.mark.parametrize("chunks", [(1,) * 40, (40,), (17, 20, 1, 2)], ids=["one by one", "at once", "in chunks"])
@every_shape
def test_teacher_forced_logits_in_bfloat16(shape: str, chunks: tuple[int, ...], device: str) -> None:
    """Relative to the largest logit, an error of bf16's own size: 2^-8 for each of a few roundings."""
    model = decoder(shape, torch.bfloat16)
    wide = copy.deepcopy(model).double()
    tokens = torch.randint(0, 300, (40,), generator=torch.Generator().manual_seed(0))
    expected = wide.logits(wide(tokens[None])[0]).float()
    runner = CudaRunner(model, sizes=GraphSizes(prompts=(16, 64)), blocks=10, block_size=16, device=device)
    table = np.arange(3, dtype=np.int32)[None]
    got, done = [], 0
    for count in chunks:
        places = np.arange(done, done + count)
        batch = Batch(
            tokens=tokens[places].numpy(), positions=places, slots=places, starts=np.array([0, count], np.int32),
            lengths=np.array([done + count], np.int32), blocks=table, sampled=np.array([count - 1], np.int32),
            draws=(Draw(Sampling(), 0, (), ()),),
        )  # fmt: skip
        got.append(runner.logits(batch)[0])
        done += count
    expected = expected[np.cumsum(chunks) - 1]
    error = (torch.stack(got) - expected).norm() / expected.norm()
    assert error < 0.02


@pytest.mark.parametrize(
    ("sizes", "dtype", "message"),
    [
        ({"heads": 2, "kv_heads": 2, "head_width": 16}, torch.float32, "head_width 16"),
        ({"heads": 2, "kv_heads": 2, "head_width": 192}, torch.bfloat16, "head_width 192"),
        ({"heads": 2, "kv_heads": 2, "head_width": 256}, torch.float32, "head_width 256"),
        ({"heads": 24, "kv_heads": 1, "head_width": 128}, torch.bfloat16, "24 heads of 128 share keys"),
        ({"heads": 2, "kv_heads": 2, "head_width": 64}, torch.float64, "float64"),
    ],
)
def test_what_the_kernels_are_not_for_is_refused(sizes: dict[str, int], dtype: torch.dtype, message: str) -> None:
    config = DecoderConfig(vocabulary=30, width=32, layers=1, hidden=32, context=16, **sizes)
    with pytest.raises(ValueError, match=message):
        CudaRunner(Decoder(config).to(dtype), blocks=4, block_size=4)


@every_device
def test_a_request_with_nan_spoils_no_other(device: str) -> None:
    model = decoder("llama")
    with torch.no_grad():
        model.embed_tokens.weight[299] = torch.nan
    prompts = {"a": [1, 2, 3], "bad": [5] * 20 + [299] * 9, "b": list(range(40)), "worse": [299], "c": [7] * 20}

    def tokens(ids: Iterable[str]) -> dict[str, list[int]]:
        runner = CudaRunner(
            copy.deepcopy(model), sizes=GraphSizes(buckets=(4,), prompts=(64,)), blocks=12, block_size=8, device=device
        )
        engine = Engine(runner, Batching(max_batch_tokens=64, max_running=4, prefix_reuse=False))
        for id in ids:
            wished = Sampling(temperature=0.0, max_tokens=20, logit_bias={299: -100.0} if id == "c" else {})
            engine.submit(Submit(id=id, prompt=tuple(prompts[id]), sampling=wished, arrived=0.0))
        found: dict[str, list[int]] = {}
        while not engine.idle:
            for update in engine.step():
                assert (update.error == NOT_FINITE) == (update.id in ("bad", "worse"))
                found.setdefault(update.id, []).extend(update.tokens)
        return found

    together = tokens(prompts)
    assert together["bad"] == together["worse"] == []
    for id in "abc":
        assert together[id] == tokens([id])[id]
        assert len(together[id]) == 20


class Recordable(TorchDispatchMode):
    """Fails at what a CUDA graph cannot record: the host asking for a number, or bringing one. Counts the rest."""

    calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        name = func.overloadpacket.__name__
        assert name not in ("_local_scalar_dense", "nonzero", "masked_select", "lift_fresh")
        assert name != "index" or all(index is None or index.dtype != torch.bool for index in args[1])
        return func(*args, **(kwargs or {}))


def test_the_guard_of_the_next_test_guards() -> None:
    for call in (lambda: torch.ones(1).item(), lambda: torch.tensor([1]), lambda: torch.ones(2)[torch.ones(2) > 0]):
        with pytest.raises(AssertionError), Recordable():
            call()


@every_shape
@pytest.mark.parametrize("paged", [False, True])
def test_what_is_recorded_asks_nothing_of_the_host(shape: str, paged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_keys, "packed_attention", lambda q, k, v, pieces, scale: torch.zeros_like(q))
    monkeypatch.setattr(prompt_keys, "prompt_attention", lambda q, *more, scale: torch.zeros_like(q))
    monkeypatch.setattr(cuda_runner, "why_not_here", lambda *_: "" if paged else "not in this test")
    runner = CudaRunner(decoder(shape), blocks=10, block_size=8)
    with torch.inference_mode():
        steps = [runner._decoder(4)[1], runner._reader(sized(64, keys=0 if paged else 64))[1]]
        for step in steps:
            step()  # caches of functions
            with Recordable() as guard:
                step()
            assert guard.calls > 20
