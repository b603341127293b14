"""Operators of TVM, arrays for them, and what NumPy says comes out: what tvm_kernels.py runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import te, topi
from tvm.s_tir import dlight

Array = Any
RNG = np.random.default_rng(0)
TARGET = {
    "kind": "cuda", "arch": "sm_90", "thread_warp_size": 32, "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
}  # fmt: skip
"""In full, as there is no GPU that TVM could ask."""
RULES = (
    dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction(),
    dlight.gpu.Transpose(), dlight.gpu.Fallback(),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """An operator of tensors, its inputs, and what NumPy says comes out."""

    name: str
    tensors: Sequence[Any]
    result: Any
    inputs: Sequence[Array]
    expected: Array


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def placeholders(*arrays: Array) -> list[Any]:
    return [te.placeholder(array.shape, name=f"x{number}") for number, array in enumerate(arrays)]


def cases() -> list[Case]:
    made = []

    def case(name: str, build: Any, expected: Any, *arrays: Array) -> None:
        tensors = placeholders(*arrays)
        doubles = [array.astype(np.float64) for array in arrays]
        made.append(Case(name, tensors, build(*tensors), arrays, expected(*doubles)))

    case("add, a vector and a row", topi.add, lambda a, b: a + b, normal(100, 130), normal(130))
    case("matmul", topi.nn.matmul, lambda a, b: a @ b, normal(128, 96), normal(96, 64))
    case("transpose", topi.transpose, lambda a: a.T, normal(70, 130))
    case("sum of rows", lambda a: topi.sum(a, axis=1), lambda a: a.sum(1), normal(64, 1000))
    case("softmax", lambda a: topi.nn.softmax(a, axis=1), softmax, normal(32, 257))
    case("conv2d, 3 x 3, padded", lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 1, 1), conv2d,
         normal(1, 8, 20, 20), normal(16, 8, 3, 3))  # fmt: skip
    return made


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def conv2d(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def compiled(case: Case) -> Any:
    """The library that TVM makes of it, for a GPU that is not there."""
    target = tvm.target.Target(TARGET)
    function = te.create_prim_func([*case.tensors, case.result]).with_attr("global_symbol", "main")
    with target:
        module = dlight.ApplyDefaultSchedule(*RULES)(tvm.IRModule({"main": function}))
    return tvm.compile(module, target=target)
