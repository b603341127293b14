"""Reductions along axes, and softmax along one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.elementwise import evaluate
from gridstride.frameworks.onnx.expressions import FLOATS, c_type, computed_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div, element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value, collapsed

THREADS = 128
_MOST_AXES = 4


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is reduced, in macros of cuda/reduction.cu; FINISH may ask for `count`."""

    start: str
    join: str
    map: str = "x"
    finish: str = "a"


_SUM = "(a) + (b)"
SUM_OF = Reduction("0", _SUM)
_REDUCTIONS = {
    "ReduceSum": SUM_OF,
    "ReduceMean": Reduction("0", _SUM, finish="(a) / count"),
    "ReduceSumSquare": Reduction("0", _SUM, map="(x) * (x)"),
    "ReduceL1": Reduction("0", _SUM, map="((x) < 0 ? -(x) : (x))"),
    "ReduceL2": Reduction("0", _SUM, map="(x) * (x)", finish="sqrt(a)"),
    "ReduceLogSum": Reduction("0", _SUM, finish="log(a)"),
    "ReduceProd": Reduction("1", "(a) * (b)"),
    "ReduceMax": Reduction("LOWEST", "((a) != (a) || (a) > (b) ? (a) : (b))"),
    "ReduceMin": Reduction("HIGHEST", "((a) != (a) || (a) < (b) ? (a) : (b))"),
}
_INFINITE = ("-__int_as_float(0x7f800000)", "__int_as_float(0x7f800000)")


@operator(*_REDUCTIONS)
def reduce(call: Call) -> Value:
    x = call.tensor(0)
    axes = call.axes(len(x.shape))
    if not axes:
        if call.get("noop_with_empty_axes", 0):
            return x
        axes = list(range(len(x.shape)))
    return reduced(call.run, x, axes, _REDUCTIONS[call.node.op], keep=bool(call.get("keepdims", 1)))


@operator("ReduceLogSumExp")
def log_of_sum_of_exponentials(call: Call) -> Value:
    """By the largest, so that nothing overflows: one reduction for it, one of what is left."""
    x = call.tensor(0)
    axes = call.axes(len(x.shape)) or ([] if call.get("noop_with_empty_axes", 0) else list(range(len(x.shape))))
    if not axes:
        return x
    run, kind = call.run, computed_type(x.dtype, "x")
    largest = reduced(run, x, axes, _REDUCTIONS["ReduceMax"])
    lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(2)]
    infinite = f"(a1 - a1 != 0 ? ({kind})0 : a1)"
    operands = [Operand(t.dtype, t) for t in (x, largest)]
    powers = evaluate(run, "exponential", lines, f"exp(a0 - {infinite})", x.dtype, operands)
    total = reduced(run, powers, axes, _REDUCTIONS["ReduceSum"])
    operands = [Operand(t.dtype, t) for t in (total, largest)]
    out = evaluate(run, "logarithm", lines, f"log(a0) + {infinite}", x.dtype, operands)
    if call.get("keepdims", 1):
        return out
    return out.reshaped([n for axis, n in enumerate(x.shape) if axis not in axes])


def reduced(run: Launcher, x: Tensor, axes: list[int], how: Reduction, *, keep: bool = True) -> Tensor:
    """A reduction over `axes`; those are kept with size 1 where `keep` says so."""
    work = computed_type(x.dtype, "a reduced value")
    kind = c_type(x.dtype, "a reduced value")
    lowest, highest = _ends(x.dtype)
    ends = {"LOWEST": lowest, "HIGHEST": highest}
    macros = {
        "INPUT": kind, "OUTPUT": kind, "WORK": work, "START": ends.get(how.start, how.start),
        "MAP(x)": how.map, "JOIN(a,b)": how.join, "FINISH(a)": how.finish,
    }  # fmt: skip
    return _launch(run, x, axes, x.dtype, keep, macros)


def _ends(dtype: np.dtype[Any]) -> tuple[str, str]:
    """What is below, and above, all numbers of a type."""
    if dtype.name in FLOATS or dtype.kind == "b":
        return _INFINITE if dtype.name in FLOATS else ("0", "1")
    info = np.iinfo(dtype)
    lowest = f"({info.min + 1}LL-1)" if dtype.kind == "i" else "0"
    return lowest, f"{info.max}{'ULL' if dtype.kind == 'u' else 'LL'}"


def _launch(
    run: Launcher, x: Tensor, axes: list[int], dtype: np.dtype[Any], keep: bool, macros: dict[str, str]
) -> Tensor:
    remaining = [i for i in range(len(x.shape)) if i not in axes]
    axes = sorted(axes)
    full = [1 if i in axes else n for i, n in enumerate(x.shape)]
    out = run.empty(full, dtype)
    if out.size:
        kept_axes = _four(x, remaining)
        reduced_axes = _four(x, axes)
        if kept_axes is None or reduced_axes is None:
            return _launch(run, run.contiguous(x), axes, dtype, keep, macros)
        count = prod(x.shape[i] for i in axes)
        (k, sk), (r, sr) = kept_axes, reduced_axes
        args = [x, out, count, *k[1:], *sk, *r[1:], *sr]
        run.launch(run.own("reduction.cu", "onnx_reduction", **macros), out.size, THREADS, args)
    return out if keep else out.reshaped([x.shape[i] for i in remaining])


def _four(x: Tensor, axes: list[int]) -> tuple[list[int], list[int]] | None:
    """Sizes and strides of some axes as four; None where they are more even when neighbours are joined."""
    sizes, (strides,) = collapsed([x.shape[i] for i in axes], [x.strides[i] for i in axes])
    missing = _MOST_AXES - len(sizes)
    if missing < 0 and not x.contiguous:
        return None
    if missing < 0:
        raise OnnxError(f"a reduction of {len(x.shape)} axes that alternate with kept ones")
    return [1] * missing + sizes, [0] * missing + strides


@operator("ArgMax", "ArgMin")
def arg(call: Call) -> Value:
    x = call.tensor(0)
    axis = axis_of(call.get("axis", 0), len(x.shape))
    better = "a > b" if call.node.op == "ArgMax" else "a < b"
    macros = {
        "INPUT": c_type(x.dtype, "a value"), "OUTPUT": "long long", "WORK": computed_type(x.dtype, "a value"),
        "START": "0", "MAP(x)": "x", "PLACES": "1", "LAST": str(call.get("select_last_index", 0)),
        "BETTER(a,b)": better,
    }  # fmt: skip
    return _launch(call.run, x, [axis], np.dtype(np.int64), bool(call.get("keepdims", 1)), macros)


@operator("Softmax", "LogSoftmax")
def softmax(call: Call) -> Value:
    x = call.tensor(0)
    rank = len(x.shape)
    if call.opset < 13:  # the axes from `axis` on are one row
        axis = axis_of(call.get("axis", 1), rank)
        flat = call.run.contiguous(x).reshaped((prod(x.shape[:axis]), prod(x.shape[axis:])))
        return _rows(call, flat, call.node.op).reshaped(x.shape)
    axis = axis_of(call.get("axis", -1), rank)
    return _along(call, x, axis, call.node.op)


def log_softmax(call: Call, x: Tensor, axis: int) -> Tensor:
    """The logarithm of the softmax along an axis."""
    return _along(call, x, axis, "LogSoftmax")


def _along(call: Call, x: Tensor, axis: int, op: str) -> Tensor:
    last = len(x.shape) - 1
    return _rows(call, call.run.contiguous(x.swapped(axis, last)), op).swapped(axis, last)


@operator("CumSum")
def cumulative_sum(call: Call) -> Value:
    x = call.dense(0)
    axis = axis_of((call.integers(1) or [0])[0], len(x.shape))
    out, n, inner = call.run.empty(x.shape, x.dtype), x.shape[axis], prod(x.shape[axis + 1 :])
    if out.size:
        macros = {"ELEMENT": c_type(x.dtype, "x"), "SUM": computed_type(x.dtype, "x")}
        columns = x.size // n
        args = [x, out, columns, n, inner, call.get("exclusive", 0), call.get("reverse", 0)]
        kernel = call.run.own("cumulative_sum.cu", "onnx_cumulative_sum", **macros)
        call.run.launch(kernel, ceil_div(columns, THREADS), THREADS, args)
    return out


def _rows(call: Call, x: Tensor, op: str) -> Tensor:
    """Along the last axis: the ladder's kernel, and for the logarithm one of our own."""
    run, out, columns = call.run, call.run.empty(x.shape, x.dtype), x.shape[-1]
    if not out.size:
        return out
    rows, kind = x.size // columns, element(x, op)
    if op == "LogSoftmax":
        run.launch(run.own("rows.cu", "onnx_log_softmax", ELEMENT=kind), rows, THREADS, [x, out, columns])
        return out
    lanes, vectors_kept = lanes_of_rows(columns * x.dtype.itemsize, most=4)
    kernel = run.rung("softmax", "04_registers", ELEMENT=kind, LANES=lanes, KEPT=vectors_kept)
    threads = max(lanes, 128)
    run.launch(kernel, ceil_div(rows, threads // lanes), threads, [x, out, rows, columns])
    return out


def lanes_of_rows(row_bytes: int, *, most: int) -> tuple[int, int]:
    """LANES and KEPT of the ladders' kernels for rows: threads of a row, and 16-byte vectors that each keeps."""
    vectors = max(1, ceil_div(row_bytes, 16))
    lanes = next((lanes for lanes in (32, 128, 256, 512) if vectors <= lanes * most), 1024)
    return lanes, min(ceil_div(vectors, lanes), 4)
