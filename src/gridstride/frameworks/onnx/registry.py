"""Which function runs which operator: ours in one table, plugins of users before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gridstride.frameworks.onnx.graph import CONTROL_FLOW, ELEMENTWISE, Array, Node
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.tensors import Tensor, Value

Function = TypeVar("Function", bound=Callable[..., Any])
Results = Value | Sequence[Value]

OPERATORS: dict[str, Callable[[Call], Results]] = {}
"""By operator, with its domain in front where it is not ONNX's own."""
PLUGINS: dict[str, Callable[..., Results]] = {}
"""Functions of users, likewise."""
FUSED = "gridstride::"
"""The domain of what nodes are fused into."""
ON_HOST = frozenset({"Shape", "Size", "Range", "Constant", "Dropout", ELEMENTWISE, *CONTROL_FLOW})
"""What the engine does besides, without a function of its own."""


@dataclass(slots=True)
class Call:
    """A node with the values that it reads; `cached` is the engine's memory of what was made from weights."""

    run: Launcher
    node: Node
    values: Sequence[Value | None]
    constants: Mapping[str, Array]
    cached: dict[tuple[str, str], Any]
    opset: int

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.values) and self.values[index] is not None

    def value(self, index: int) -> Value:
        """An input, wherever it lies; OnnxError where it is missing."""
        if not self.has(index):
            raise OnnxError(f"input {index} is missing")
        value = self.values[index]
        assert value is not None
        return value

    def tensor(self, index: int) -> Tensor:
        """An input in device memory; a weight is brought there once."""
        value = self.value(index)
        if isinstance(value, Tensor):
            return value
        name = self.node.inputs[index]
        if name in self.constants:
            uploaded: Tensor = self.keep("device", name, lambda: self.run.on_device(value))
            return uploaded
        return self.run.on_device(value)

    def dense(self, index: int) -> Tensor:
        """The same in C order."""
        return self.run.contiguous(self.tensor(index))

    def optional(self, index: int) -> Tensor | None:
        """An input in C order on the device, None where it is absent."""
        return self.dense(index) if self.has(index) else None

    def constant(self, index: int) -> Array | None:
        """The weight that an input is; None where it is computed or absent."""
        return self.constants.get(self.node.inputs[index]) if self.has(index) else None

    def integers(self, index: int) -> list[int] | None:
        """An input as integers: axes, a shape; None where it is absent."""
        return self.run.integers(self.value(index)) if self.has(index) else None

    def keep(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        """What was made of a weight at the first run."""
        if (kind, name) not in self.cached:
            self.cached[kind, name] = make()
        return self.cached[kind, name]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.node.attributes.get(name, default)

    def axes(self, rank: int, index: int = 1) -> list[int] | None:
        """The attribute `axes`, or since opset 13 the input, from 0 on; None where neither is there."""
        axes = self.get("axes") if "axes" in self.node.attributes else self.integers(index)
        return None if axes is None else [axis_of(axis, rank) for axis in axes]


def operator(*names: str) -> Callable[[Function], Function]:
    """Register a function for operators."""

    def register(function: Function) -> Function:
        for name in names:
            assert name not in OPERATORS, name
            OPERATORS[name] = function
        return function

    return register


def plugin(name: str) -> Callable[[Function], Function]:
    """Register your own function for an operator: "com.example::Scale", or one of ONNX's own to replace ours.

    It is called as `function(run, node, *values)`: a Launcher, the Node with its attributes, and Tensors (None for an
    optional input that is absent); it gives a Tensor, or a list of one for each output.
    """
    if not isinstance(name, str) or not name.rpartition("::")[2]:
        raise OnnxError(f"plugin({name!r}): a name such as 'com.example::Scale' belongs there")

    def register(function: Function) -> Function:
        PLUGINS[name] = function
        return function

    return register


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from 0; OnnxError where there is none."""
    if not -rank <= axis < max(rank, 1):
        raise OnnxError(f"axis {axis} is out of range: the value has {rank} axes")
    return axis % rank if rank else 0
