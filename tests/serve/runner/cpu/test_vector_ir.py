"""Vectors in LLVM IR: exponentials, rounding to 16 bits and products, by NumPy's and PyTorch's numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import torch
from llvmlite import ir

from gridstride.serve.runner.cpu.linear_ir import MOST_ROWS, emit_linear
from gridstride.serve.runner.cpu.step_code import machine
from gridstride.serve.runner.cpu.vector_ir import I64, Element, Emitter, Machine
from gridstride.virtual.machine.engine import compile_object, load_objects

LANES = 8
STORED: dict[Element, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}


def loaded(module: ir.Module, name: str, count: int) -> Callable[..., None]:
    """A function of so many numbers; it keeps its engine."""
    engine = load_objects(compile_object(str(module), effort="thorough"))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)(engine.get_function_address(name))
    function.engine = engine  # type: ignore[attr-defined]
    return cast(Callable[..., None], function)


def mapped(change: Callable[[Emitter, Any, Any], None]) -> Callable[..., None]:
    """f(count, x, y) that takes a vector of x after the other; `change` gets it, and where it goes."""
    module = ir.Module()
    e = Emitter(module, "mapped", [I64] * 3, public=True)
    count, x, y = e.arguments
    with e.loop(count, step=LANES) as i:
        change(e, e.floats(e.at(x, (i, 4)), LANES), (y, i))
    e.end()
    return loaded(module, "mapped", 3)


def test_exponentials_are_those_of_numpy() -> None:
    exp = mapped(lambda e, x, to: e.store(e.exp(x), e.at(to[0], (to[1], 4))))
    x = np.concatenate([np.linspace(-86, 86, 4093, dtype=np.float32), [0.0, -0.0, np.nan]]).astype(np.float32)
    y = np.zeros_like(x)
    exp(len(x), x.ctypes.data, y.ctypes.data)
    np.testing.assert_allclose(y, np.exp(x), rtol=3e-7)
    far = np.array([-np.inf, -1e30, np.inf, 1e30] * 2, np.float32)
    out = np.zeros_like(far)
    exp(len(far), far.ctypes.data, out.ctypes.data)
    assert (out[:2] < 1e-37).all()
    assert (out[2:4] > 1e37).all()
    assert np.isfinite(out).all()


def test_numbers_are_rounded_to_bf16_as_pytorch_does() -> None:
    keep = mapped(lambda e, x, to: e.store_floats(x, e.at(to[0], (to[1], 2)), "bfloat16"))
    ties = torch.tensor([1.00390625, 1.01171875, -1.00390625, 0.0, -0.0, torch.inf, 3.3e38, 1e-40])
    x = torch.cat([torch.randn(2048, generator=torch.Generator().manual_seed(0)) * 100, ties])
    y = torch.zeros(len(x), dtype=torch.bfloat16)
    keep(len(x), x.data_ptr(), y.data_ptr())
    assert torch.equal(y, x.bfloat16())
    broken = torch.from_numpy(np.full(LANES, 0x7FFFFFFF, np.uint32).view(np.float32))  # a NaN of all ones
    keep(LANES, broken.data_ptr(), y.data_ptr())
    assert y[:LANES].isnan().all()


@cache
def linear(element: Element) -> Callable[..., None]:
    """`emit_linear` of few registers, so that blocks of the matrix's rows end within it."""
    module = ir.Module()
    emit_linear(module, Machine(LANES, 16), element, LANES).linkage = "external"
    return loaded(module, f"linear_{element}", 10)


@pytest.mark.parametrize("element", STORED)
@pytest.mark.parametrize("rows", [1, 3, MOST_ROWS, 2 * MOST_ROWS + 1])
def test_a_product_is_that_of_pytorch_and_the_same_for_any_number_of_rows(element: Element, rows: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    outputs, inputs = 13, 5 * LANES
    weight = (torch.randn(outputs, inputs, generator=generator) * 9).to(STORED[element])
    x, scale, bias = (torch.randn(*shape, generator=generator) for shape in ((rows, inputs), (outputs,), (outputs,)))
    before = torch.randn(rows, outputs + 2, generator=generator)
    y, one = before.clone(), before.clone()
    others = (weight.data_ptr(), scale.data_ptr(), bias.data_ptr(), 1, outputs, inputs)
    linear(element)(rows, x.data_ptr(), y.data_ptr(), outputs + 2, *others)
    wanted = x @ weight.float().T * scale + bias + before[:, :outputs]
    assert torch.allclose(y[:, :outputs], wanted, rtol=1e-4, atol=1e-4)
    assert torch.equal(y[:, outputs:], before[:, outputs:])
    for row in range(rows):
        linear(element)(1, x[row].data_ptr(), one[row].data_ptr(), outputs + 2, *others)
    assert torch.equal(y, one)


def test_this_machine_has_vectors() -> None:
    assert machine().lanes >= 4
