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
