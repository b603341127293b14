"""Kernels that TVM generates for CUDA, on the virtual GPU: each result against NumPy's in float64.

    pip install 'apache-tvm>=0.27'
    python bench/tvm_kernels.py

Operators are TVM's (topi, te), scheduled for a GPU by its own rules (s_tir.dlight). The tally is in
bench/results/tvm_kernels.json: the largest error over the largest magnitude, launches and their predicted time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import te, topi
from tvm.s_tir import dlight

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "src")]

from common import save  # noqa: E402

import gridstride as gs  # noqa: E402
from gridstride.frameworks.tvm_program import TvmProgram  # noqa: E402

Array = Any
RNG = np.random.default_rng(0)
TOLERANCE = 1e-5
"""Of float32: the error over the largest magnitude."""
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


def compiled(case: Case, target: Any) -> TvmProgram:
    function = te.create_prim_func([*case.tensors, case.result]).with_attr("global_symbol", "main")
    with target:
        module = dlight.ApplyDefaultSchedule(*RULES)(tvm.IRModule({"main": function}))
    return gs.frameworks.tvm(tvm.compile(module, target=target))


def verdict(case: Case, target: Any) -> dict[str, Any]:
    began = time.perf_counter()
    program, out = compiled(case, target), np.zeros(case.expected.shape, np.float32)
    with gs.frameworks.observed() as runs:
        program(*case.inputs, out)
    error = float(np.abs(out - case.expected).max() / np.abs(case.expected).max())
    return {
        "operator": case.name, "right": error <= TOLERANCE, "error": error, "tolerance": TOLERANCE,
        "kernels": sorted(program.kernels), "launches": len(runs),
        "predicted_ms": sum(run.predicted.ms for run in runs), "seconds": round(time.perf_counter() - began, 2),
    }  # fmt: skip


def main() -> None:
    target = tvm.target.Target(TARGET)
    rows = []
    with gs.use(gs.VirtualGPU("h200", workers=2)):
        for case in cases():
            row = verdict(case, target)
            rows.append(row)
            word = "right" if row["right"] else "WRONG"
            print(f"{word}  {row['error']:8.1e}  {row['launches']:3} launches  {case.name}")
    right = sum(row["right"] for row in rows)
    save("tvm_kernels", {"right": right, "of": len(rows), "versions": {"tvm": tvm.__version__}, "operators": rows})
    print(f"{right} of {len(rows)} are right")


if __name__ == "__main__":
    main()
