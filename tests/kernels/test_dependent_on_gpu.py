"""Chains of dependent launches on a GPU give the bits of the same ops one after the other, from CUDA graphs too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gridstride.kernels import torch_op
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.sample.op import sample
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.runner.cuda.fused import FusedDecoder


def pause() -> None:
    """Between two ops: neither memory nor time overlaps."""
    torch.cuda.synchronize()


def chain(x: Tensor, weight: Tensor, uniform: Tensor, between: Callable[[], None]) -> tuple[Tensor, Tensor]:
    """Own kernels only, each right behind another, with results where inputs of earlier ones lay; x changes, too."""
    rows, width = x.shape
    half, quarter = rows // 2, rows // 4
    ones, none = torch.ones_like(uniform, dtype=torch.float32), torch.zeros_like(uniform, dtype=torch.float32)
    k = none.int()
    for _ in range(8):
        normed = rms_norm(x, weight, 1e-6)
        between()
        middle = silu_mul(normed.view(half, 2 * width))
        between()
        normed = add_rms_norm(x[:half], middle, weight, 1e-6)
        between()
        middle = silu_mul(normed.view(quarter, 2 * width))
        between()
        add_rms_norm(x[half : half + quarter], middle, weight, 1e-6, fixed_weights=True)
        between()
    normed = rms_norm(x, weight, 1e-6)
    between()
    return normed, sample(normed, ones, k, ones, none, uniform)


@pytest.mark.gpu
@pytest.mark.parametrize(("rows", "width"), [(32, 1024), (2000, 1024), (8, 75)])
def test_a_captured_chain_gives_the_bits_of_its_ops_one_by_one(
    rows: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 50
    inputs = torch.randn(turns, rows, width, device="cuda").bfloat16()
    weight, uniform = torch.rand(width, device="cuda").bfloat16() + 0.5, torch.rand(rows, device="cuda").double()
    x = inputs[0].clone()
    chain(x, weight, uniform, pause)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, tokens = chain(x, weight, uniform, lambda: None)
    found = []
    for given in inputs:  # none waits for another on the host
        x.copy_(given)
        graph.replay()
        found.append((x.clone(), out.clone(), tokens.clone()))
    monkeypatch.setattr(torch_op, "DEPENDENT", False)
    for given, (residual, normed, drawn) in zip(inputs, found, strict=True):
        expected, expected_tokens = chain(given, weight, uniform, pause)
        assert torch.equal(residual, given)
        assert torch.equal(normed, expected)
        assert torch.equal(drawn, expected_tokens)


@pytest.mark.gpu
@pytest.mark.parametrize("sequences", [1, 5, 64])
def test_a_captured_decoder_gives_the_bits_of_one_whose_kernels_wait_for_each_other(
    sequences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = DecoderConfig(
        vocabulary=500,
        width=512,
        layers=6,
        heads=8,
        kv_heads=4,
        head_width=64,
        hidden=1024,
        context=512,
    )
    torch.manual_seed(0)
    model = FusedDecoder(Decoder(config).to("cuda", torch.bfloat16).eval())
    steps, width = 100, 20
    tables = torch.randperm(sequences * width, device="cuda").int().view(sequences, width)
    starts = torch.randint(0, 16 * width - steps, (sequences,), device="cuda")
    tokens = torch.randint(0, 500, (steps, sequences), device="cuda")
    past = torch.randn(2, 6, sequences * width, 4, 16, 64, device="cuda").bfloat16()
    static = [torch.zeros_like(tokens[0]) for _ in range(3)]
    lengths = torch.ones(sequences, dtype=torch.int32, device="cuda")

    def step(cache: Tensor) -> Tensor:
        def look(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return paged_attention(q, k, v, tables, lengths, scale=0.125, fixed_past=True)

        return model.logits(model.hidden(*static, (cache[0], cache[1]), look))

    def decode(cache: Tensor, run: Callable[[], Tensor]) -> list[Tensor]:
        found = []
        for i in range(steps):
            at = starts + i
            block = tables.gather(1, (at // 16)[:, None])[:, 0]
            for to, new in zip((*static, lengths), (tokens[i], at, block * 16 + at % 16, at + 1), strict=True):
                to.copy_(new)
            found.append(run().clone())
        return found

    def recorded(cache: Tensor, dependent: bool) -> Callable[[], Tensor]:
        monkeypatch.setattr(torch_op, "DEPENDENT", dependent)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = step(cache)
        return lambda: (graph.replay(), logits)[1]

    with torch.inference_mode():
        cache, other = past.clone(), past.clone()
        step(past.clone())
        found, expected = decode(cache, recorded(cache, True)), decode(other, recorded(other, False))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert torch.equal(cache, other)


@pytest.mark.gpu
def test_a_captured_graph_holds_the_dependent_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("dependent launches came with compute capability 9.0")
    from cuda.bindings import driver

    x, weight = torch.randn(32, 1024, device="cuda").bfloat16(), torch.ones(1024, device="cuda").bfloat16()
    for dependent in (True, False):
        monkeypatch.setattr(torch_op, "DEPENDENT", dependent)
        rms_norm(silu_mul(rms_norm(x, weight, 1e-6)), weight[:512], 1e-6)
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            rms_norm(silu_mul(rms_norm(x, weight, 1e-6)), weight[:512], 1e-6)
        handle = driver.CUgraph(graph.raw_cuda_graph())
        count = driver.cuGraphGetEdges(handle)[4]
        error, _, _, edges, _ = driver.cuGraphGetEdges(handle, count)
        assert not int(error)
        programmatic = driver.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
        assert [edge.type == programmatic for edge in edges] == [dependent, dependent]
