"""Recurrent layers: one product with all inputs, then for each step one with the state and a kernel for the gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.elementwise import fill
from gridstride.frameworks.onnx.launcher import ceil_div
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.product_ops import Epilogue, product
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

THREADS = 128
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_USUAL = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
_FUNCTIONS = {"Sigmoid": "sigmoid", "Tanh": "tangent", "Relu": "relu"}
_MACROS = ("F", "G", "H0")


@dataclass(frozen=True, slots=True)
class RecurrentLayer:
    """What all steps of a direction have in common. Sizes: steps T, sequences N, inputs, hidden H, directions D."""

    call: Call
    x: Tensor
    y: Tensor
    lengths: Tensor | None
    hidden: int

    @property
    def gates(self) -> int:
        return _GATES[self.call.node.op]


@operator("RNN", "GRU", "LSTM")
def recurrent(call: Call) -> list[Value]:
    x, by_batch = call.tensor(0), bool(call.get("layout", 0))
    _check(call, x)
    x = call.run.contiguous(x.swapped(0, 1) if by_batch else x)
    weights, hidden = call.dense(1), call.dense(2).shape[2]
    directions, count = weights.shape[0], x.shape[1]
    y = call.run.empty((x.shape[0], directions, count, hidden), x.dtype)
    lengths = call.optional(4)
    if lengths is not None and lengths.dtype != np.int32:
        raise OnnxError(f"sequence_lens is {lengths.dtype}: int32 belongs there")
    layer = RecurrentLayer(call, x, y, lengths, hidden)
    h = _state(call, 5, (directions, count, hidden), by_batch)
    c = _state(call, 6, (directions, count, hidden), by_batch) if call.node.op == "LSTM" else None
    if y.size:
        for d in range(directions):
            _direction(layer, d, _part(h, d), None if c is None else _part(c, d))
    results: list[Value] = [y.permuted([2, 0, 1, 3]) if by_batch else y]
    results += [state.swapped(0, 1) if by_batch else state for state in (h, c) if state is not None]
    return results


def _check(call: Call, x: Tensor) -> None:
    if x.dtype.name != "float32":
        raise OnnxError(f"x is {x.dtype}: the kernels take float32")
    if call.get("clip") is not None or call.get("input_forget", 0):
        raise OnnxError("clip and input_forget are not computed")
    direction, directions = call.get("direction", "forward"), call.tensor(1).shape[0]
    if directions != (2 if direction == "bidirectional" else 1):
        raise OnnxError(f"direction is {direction!r} and w has {directions} directions")


def _state(call: Call, index: int, shape: Sequence[int], by_batch: bool) -> Tensor:
    """An initial state in memory of its own [D, N, H]; zeros where it is absent."""
    if not call.has(index):
        return fill(call.run, np.zeros((), np.float32), call.run.empty(shape, np.dtype(np.float32)))
    initial = call.tensor(index)
    return call.run.copy(initial.swapped(0, 1) if by_batch else initial)


def _part(x: Tensor, d: int) -> Tensor:
    part = x.sliced(0, d, 1)
    return part.view(part.shape[1:], part.strides[1:])


def _direction(layer: RecurrentLayer, d: int, h: Tensor, c: Tensor | None) -> None:
    call, run, op = layer.call, layer.call.run, layer.call.node.op
    steps, count, _ = layer.x.shape
    wide = layer.gates * layer.hidden
    weights, recurrence = (_part(call.dense(index), d).swapped(0, 1) for index in (1, 2))
    biases = [_part(call.dense(3), d).sliced(0, n * wide, wide) for n in range(2)] if call.has(3) else [None, None]
    inputs = product(run, layer.x, weights, Epilogue())
    reverse = call.get("direction", "forward") == "reverse" or d == 1
    macros = {"REVERSE": int(reverse), **_activations(call, d)}
    linear = op == "GRU" and bool(call.get("linear_before_reset", 0))
    macros |= {"LINEAR_BEFORE_RESET": int(linear)} if op == "GRU" else {}
    sizes = [steps, count, layer.hidden, layer.y.shape[1], d]
    last = recurrence.sliced(1, 2 * layer.hidden, layer.hidden) if op == "GRU" else None
    z, rh = (run.empty(h.shape, h.dtype) if op == "GRU" else None for _ in range(2))

    def launch(entry: str, recurrent_part: Tensor, step: int, *more: Any) -> None:
        kernel = run.own("recurrent.cu", entry, **macros)
        args = [inputs, recurrent_part, *biases, h, layer.y, layer.lengths, *sizes, step, *more]
        run.launch(kernel, ceil_div(count * layer.hidden, THREADS), THREADS, args)

    for step in range(steps):
        recurrent = product(run, h, recurrence, Epilogue())
        if op == "RNN":
            launch("onnx_rnn", recurrent, step)
        elif op == "LSTM":
            launch("onnx_lstm", recurrent, step, c, _part(call.dense(7), d) if call.has(7) else None)
        else:
            assert rh is not None
            assert last is not None
            launch("onnx_gru_reset", recurrent, step, z, rh)
            launch("onnx_gru", recurrent, step, z, rh if linear else product(run, rh, last, Epilogue()))


def _activations(call: Call, d: int) -> dict[str, str]:
    usual = _USUAL[call.node.op]
    names = [_text(name) for name in call.get("activations") or usual * 2][d * len(usual) : (d + 1) * len(usual)]
    if call.get("activation_alpha") or call.get("activation_beta"):
        raise OnnxError("activation_alpha and activation_beta are not computed")
    for name in names:
        if name not in _FUNCTIONS:
            raise OnnxError(f"the activation {name} is not computed: {', '.join(_FUNCTIONS)} are")
    functions = [_FUNCTIONS[name] for name in names]
    return dict(zip(_MACROS, [*functions, *["sigmoid"] * (3 - len(functions))], strict=True))


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
