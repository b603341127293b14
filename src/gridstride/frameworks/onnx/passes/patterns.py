"""Matching: who makes a value, how often it is read, and what constant it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from gridstride.frameworks.onnx.graph import Array, Graph, Node

T = TypeVar("T")


class Matcher:
    """A graph as it was when this was made; nodes that are rewritten meanwhile only read what was there before."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._producers = graph.producers()
        self._uses: Counter[str] = graph.uses()

    def made_by(self, name: str, *ops: str) -> Node | None:
        """The node of ONNX's own domain, one of `ops`, whose first output a value is."""
        node = self._producers.get(name)
        fits = node is not None and not node.domain and node.op in ops and node.outputs[0] == name
        return node if fits else None

    def only(self, name: str, *ops: str) -> Node | None:
        """The same, where nothing else reads the value."""
        return self.made_by(name, *ops) if self._uses[name] == 1 else None

    def uses(self, name: str) -> int:
        """How often a value is read."""
        return self._uses[name]

    def constant(self, name: str) -> Array | None:
        """The constant of that name."""
        return self.graph.constants.get(name)

    def scalar(self, name: str) -> float | None:
        """The number that a value always is, whatever its shape of ones."""
        value = self.constant(name)
        return float(value.reshape(())) if value is not None and value.size == 1 and value.dtype.kind in "fiu" else None

    def is_scalar(self, name: str, number: float, relative: float = 1e-4) -> bool:
        """Whether a value always is that number, within rounding."""
        value = self.scalar(name)
        return value is not None and abs(value - number) <= relative * abs(number)

    def axes(self, node: Node) -> list[int] | None:
        """Axes of a reduction, by attribute or constant."""
        if "axes" in node.attributes:
            return list(node.attributes["axes"])
        value = self.constant(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] else None
        return None if value is None else [int(axis) for axis in value.reshape(-1)]

    def reduces_last_axis(self, node: Node) -> bool:
        """Whether a reduction is along the last axis alone, and keeps it with size 1."""
        axes, rank = self.axes(node), self.graph.ranks.get(node.inputs[0])
        last = axes == [-1] or (rank is not None and axes == [rank - 1])
        return last and bool(node.attributes.get("keepdims", 1))


def either(node: Node, match: Callable[[str, str], T | None]) -> T | None:
    """What `match` finds of two operands in one order or the other."""
    if len(node.inputs) != 2:
        return None
    a, b = node.inputs
    result = match(a, b)
    return result if result is not None else match(b, a)


def rewrite(node: Node, op: str, inputs: list[str], body: list[Node] | None = None, **attributes: object) -> None:
    """Make the last node of a pattern into what stands for all of it; "domain::op"."""
    node.domain, _, node.op = op.rpartition("::")
    node.inputs, node.attributes, node.body = inputs, attributes, body or []
