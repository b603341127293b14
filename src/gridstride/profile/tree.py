"""Which operator called which: the spans of each thread nested, and the time that each kept to itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gridstride.profile.trace import Lane, TraceSpan


@dataclass(slots=True)
class OperatorNode:
    """An operator in its place; `own` is its time without that of the operators it called, in nanoseconds."""

    span: TraceSpan
    parent: OperatorNode | None
    own: int

    def upwards(self) -> Iterator[OperatorNode]:
        """Itself, its caller, and so on."""
        node: OperatorNode | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def top(self) -> OperatorNode:
        """The outermost: what the program called."""
        return [*self.upwards()][-1]


@dataclass(frozen=True, slots=True)
class Tree:
    """All operators in the order of time, and by the number that ties kernels to them."""

    nodes: tuple[OperatorNode, ...]
    by_number: dict[int, OperatorNode]

    def of(self, span: TraceSpan) -> OperatorNode | None:
        """The innermost operator that launched or called this."""
        return self.by_number.get(span.operator) if span.operator is not None else None


def tree(operators: Iterable[TraceSpan]) -> Tree:
    """The operators nested; they must be in the order of time, the longer first where two begin together."""
    stacks: dict[Lane, list[OperatorNode]] = {}
    nodes, numbers = [], {}
    for span in operators:
        stack = stacks.setdefault(span.lane, [])
        while stack and stack[-1].span.end <= span.start:
            stack.pop()
        parent = stack[-1] if stack else None
        node = OperatorNode(span, parent, span.duration)
        if parent is not None:
            parent.own = max(0, parent.own - (min(span.end, parent.span.end) - span.start))
        stack.append(node)
        nodes.append(node)
        if span.operator is not None:
            numbers[span.operator] = node
    return Tree(tuple(nodes), numbers)
