"""If and Loop: which graph inside a node runs, how often, and what becomes of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gridstride.frameworks.onnx.graph import Node, Port
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.tensors import Tensor, Value

Run = Callable[..., list[Value]]
"""`run(branch, *inputs)` gives a branch's results."""


def _branch_taken(launcher: Launcher, node: Node, values: Sequence[Value | None], run: Run) -> list[Value]:
    return run(node.subgraphs["then_branch" if _is_true(launcher, values[0]) else "else_branch"])


def _repeated(launcher: Launcher, node: Node, values: Sequence[Value | None], run: Run) -> list[Value]:
    """Inputs: how often at most and whether at all, each or absent, then what goes from turn to turn."""
    branch = node.subgraphs["body"]
    carried = len(branch.inputs) - 2
    most, state = values[0], [_required(value) for value in values[2 : 2 + carried]]
    turns = None if most is None else int(launcher.on_host(most).reshape(()))
    goes_on, turn = values[1] is None or _is_true(launcher, values[1]), 0
    collected: list[list[Value]] = [[] for _ in branch.outputs[1 + carried :]]
    while goes_on and (turns is None or turn < turns):
        condition, *results = run(branch, np.asarray(turn, np.int64), np.asarray(True), *state)
        state = results[:carried]
        for values_of_one, value in zip(collected, results[carried:], strict=True):
            values_of_one.append(value)
        goes_on, turn = _is_true(launcher, condition), turn + 1
    ends = branch.ends[1 + carried :]
    return [*state, *(_stacked(launcher, slices, end) for slices, end in zip(collected, ends, strict=True))]


CONTROL: dict[str, Callable[[Launcher, Node, Sequence[Value | None], Run], list[Value]]] = {
    "If": _branch_taken,
    "Loop": _repeated,
}


def _is_true(launcher: Launcher, value: Value | None) -> bool:
    return bool(launcher.on_host(_required(value)).reshape(()))


def _required(value: Value | None) -> Value:
    if value is None:
        raise OnnxError("a value that it begins with is missing")
    return value


def _stacked(launcher: Launcher, values: Sequence[Value], end: Port | None) -> Value:
    """One value for each turn, along a new first axis; of no turns as many axes as the file says."""
    if not values:
        if end is None:
            raise OnnxError("it ends before its first turn, and the file does not say of which type its results are")
        return np.empty((0, *(n if isinstance(n, int) else 0 for n in end.shape or ())), end.dtype)
    if not any(isinstance(value, Tensor) for value in values):
        return np.stack([launcher.on_host(value) for value in values])
    shapes = {tuple(value.shape) for value in values}
    if len(shapes) > 1:
        raise OnnxError(f"its turns give different shapes: {', '.join(str(list(shape)) for shape in sorted(shapes))}")
    out = launcher.empty((len(values), *values[0].shape), values[0].dtype)
    for turn, value in enumerate(values):
        if value.size:
            launcher.copy(launcher.on_device(value).with_axis(0), out.sliced(0, turn, 1))
    return out
