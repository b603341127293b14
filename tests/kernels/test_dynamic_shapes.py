"""Ops in graphs that are compiled or exported for sequences of any length."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend

from gridstride import ops

LENGTHS = range(5, 14)


def rotary(x: Tensor, table: Tensor) -> Tensor:
    return ops.rotary(x, table, table)


@pytest.mark.parametrize("axes", [(), (1,), (2,)], ids=["one table", "axes of 1", "a table for each row"])
def test_rotary_is_compiled_once_for_all_lengths(axes: tuple[int, ...]) -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(rotary, backend=counter, fullgraph=True)
    for n in LENGTHS:
        x, table = torch.randn(2, n, 3, 6, requires_grad=True), torch.randn(*axes, n, 3)
        torch.testing.assert_close(compiled(x, table), rotary(x, table))
    assert counter.frame_count <= 2  # the first length, and any


@pytest.mark.parametrize("past", [0, 2, None])
@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("backward", ["auto", "gridstride"])
def test_attention_is_compiled_once_for_all_lengths(past: int | None, needs_gradient: bool, backward: str) -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")

    def attention(q: Tensor) -> Tensor:
        return ops.attention(q, q, q, past=past, backward=backward)

    compiled = torch.compile(attention, backend=counter, fullgraph=True)
    for n in LENGTHS:
        q = torch.randn(1, 2, n, 8, requires_grad=needs_gradient)
        got, expected = compiled(q), attention(q)
        torch.testing.assert_close(got, expected)
        if needs_gradient:
            one, other = (torch.autograd.grad(y.square().sum(), q)[0] for y in (got, expected))
            torch.testing.assert_close(one, other)
    assert counter.frame_count <= 3


def rows(n: int) -> dict[str, tuple[Callable[..., object], list[Tensor]]]:
    """A call of each op on `n` rows, and what it is given."""
    draw, long, short = torch.randn, torch.int64, torch.int32
    cache = [draw(6, 2, 8, 64), draw(6, 2, 8, 64), torch.zeros(n, 2, dtype=short)]
    codes = [draw(size, 16).to(torch.float8_e4m3fn) for size in (n, 5)]
    drawn = [torch.ones(n), torch.zeros(n, dtype=short), torch.ones(n), torch.zeros(n), torch.rand(n).double()]
    angles, places = [draw(50, 32), draw(50, 32)], [torch.zeros(n, dtype=long), torch.arange(n)]
    cuts = torch.tensor([0, n], dtype=short)
    return {
        "gelu": (ops.gelu, [draw(n, 8)]),
        "softmax": (ops.softmax, [draw(n, 8)]),
        "layer_norm": (ops.layer_norm, [draw(n, 8), draw(8), draw(8)]),
        "rms_norm": (lambda x, w: ops.rms_norm(x, w, 1e-6), [draw(n, 8), draw(8)]),
        "add_rms_norm": (lambda x, d, w: ops.add_rms_norm(x, d, w, 1e-6), [draw(n, 8), draw(n, 8), draw(8)]),
        "swiglu": (ops.swiglu, [draw(n, 8), draw(n, 8)]),
        "silu_mul": (ops.silu_mul, [draw(n, 8)]),
        "cross_entropy": (ops.cross_entropy, [draw(n, 8), torch.zeros(n, dtype=long)]),
        "linear_cross_entropy": (ops.linear_cross_entropy, [draw(n, 4), draw(8, 4), torch.zeros(n, dtype=long)]),
        "dropout": (lambda x, seed: ops.dropout(x, 0.5, seed=seed), [draw(n, 8), torch.ones(2, dtype=long)]),
        "conv2d": (ops.conv2d, [draw(n, 3, 5, 5), draw(4, 3, 3, 3)]),
        "varlen_attention": (lambda q, cu: ops.varlen_attention(q, q, q, cu, cu, 64, 64), [draw(n, 2, 8), cuts]),
        "sort_keys": (ops.sort_keys, [draw(n)]),
        "matmul_fp8": (ops.matmul_fp8, [*codes, draw(n), draw(5)]),
        "skinny_gemm": (ops.skinny_gemm, [draw(n, 32), draw(8, 32)]),
        "paged_attention": (
            lambda *given: ops.paged_attention(*given, scale=0.3), [draw(n, 4, 64), *cache, torch.ones(n, dtype=short)],
        ),
        "sample": (ops.sample, [draw(n, 8), *drawn]),
        "rotary_cache": (
            lambda *given: ops.rotary_cache(*given, 1e-6),
            [draw(n, 256), *angles, draw(64), draw(64), *places, draw(6, 1, 8, 64), draw(6, 1, 8, 64)],
        ),
    }  # fmt: skip


WITHOUT = ("sort_keys", "matmul_fp8", "skinny_gemm", "paged_attention", "sample", "rotary_cache")


@pytest.mark.parametrize("name", list(rows(1)))
@pytest.mark.parametrize("recorded", [False, True])
def test_every_op_is_compiled_once_for_all_numbers_of_rows(name: str, recorded: bool) -> None:
    if recorded and name in WITHOUT:
        pytest.skip("has no gradient")
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(rows(5)[name][0], backend=counter, fullgraph=True)
    for n in range(5, 9):
        given = rows(n)[name][1]
        if name == "add_rms_norm":
            given[1].requires_grad_(recorded)  # the first is written in place
        else:
            given[0].requires_grad_(recorded)
        y = compiled(*given)
        if recorded:
            y.sum().backward()
    assert counter.frame_count <= 2  # the first number, and any


class Layer(nn.Module):
    def __init__(self, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.call = call

    def forward(self, *given: Tensor) -> Tensor:
        return self.call(*given)


def test_both_are_exported_with_a_length_that_is_left_open() -> None:
    length = torch.export.Dim("length", min=2, max=64)
    turned = torch.export.export(
        Layer(rotary), (torch.randn(1, 5, 2, 6), torch.randn(5, 3)), dynamic_shapes=(({1: length}, {0: length}),)
    )
    x, table = torch.randn(1, 9, 2, 6), torch.randn(9, 3)
    torch.testing.assert_close(turned.module()(x, table), rotary(x, table))
    seen = torch.export.export(
        Layer(lambda q: ops.attention(q, q, q)), (torch.randn(1, 2, 5, 8),), dynamic_shapes=(({2: length},),)
    )
    q = torch.randn(1, 2, 9, 8)
    torch.testing.assert_close(seen.module()(q), F.scaled_dot_product_attention(q, q, q))
