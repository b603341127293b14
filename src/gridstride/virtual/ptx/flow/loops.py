"""An order of blocks with contiguous loops, and the loop nest, for any graph.

Strongly connected components in topological order; within each, its header first, and the same again without the edges
to the header. For a reducible graph these are the natural loops (one for each header). A component that is entered at
several blocks (irreducible) is one loop too: the block reached first becomes its header.
(Steensgaard, "Sequentializing Program Dependence Graphs for Irreducible Programs", 1993.)
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

Edges = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: `members` with the header, `back_edges` as (source, header), `depth` 1 for an outermost loop.

    `parent` is the header of the loop around it. `reducible` is False where it is entered past its header as well.
    """

    header: int
    members: frozenset[int]
    back_edges: tuple[tuple[int, int], ...]
    depth: int
    parent: int | None
    reducible: bool = True


@dataclass(frozen=True, slots=True)
class _Component:
    """A strongly connected component; `root` was reached first. A `loop` is left by no edge but through its members."""

    root: int
    members: frozenset[int]
    loop: bool
    depth: int = 0
    parent: int | None = None


def nest(successors: Edges) -> tuple[tuple[int, ...], tuple[Loop, ...]]:
    """The order of the blocks reachable from block 0, and the loops, each before those inside it."""
    order: list[int] = []
    loops: list[_Component] = []
    work = _components(successors, 0, range(len(successors)), cut=None, depth=0)
    while work:
        component = work.pop()
        if not component.loop:
            order.append(component.root)
            continue
        loops.append(component)
        root = component.root
        work += _components(successors, root, component.members, cut=root, depth=component.depth + 1)
    entered = _sources(successors, order)
    return tuple(order), tuple(_describe(component, entered) for component in loops)


def _sources(successors: Edges, reachable: Sequence[int]) -> list[list[int]]:
    sources: list[list[int]] = [[] for _ in successors]
    for source in sorted(reachable):
        for target in successors[source]:
            sources[target].append(source)
    return sources


def _describe(component: _Component, entered: list[list[int]]) -> Loop:
    header, members = component.root, component.members
    return Loop(
        header=header,
        members=members,
        back_edges=tuple((source, header) for source in entered[header] if source in members),
        depth=component.depth + 1,
        parent=component.parent,
        reducible=all(members.issuperset(entered[member]) for member in members if member != header),
    )


def _components(
    successors: Edges, start: int, nodes: Container[int], *, cut: int | None, depth: int
) -> list[_Component]:
    """The components of the subgraph `nodes` without the edges to `cut`, last in topological order first (Tarjan)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    closed: set[int] = set()
    components: list[_Component] = []
    path: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        number[node] = low[node] = len(number)
        open_nodes.append(node)
        path.append((node, iter(successors[node])))

    enter(start)
    while path:
        node, targets = path[-1]
        for target in targets:
            if target == cut or target not in nodes or target in closed:
                continue
            if target not in number:
                enter(target)
                break
            low[node] = min(low[node], number[target])
        else:
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == number[node]:
                members = frozenset(open_nodes[open_nodes.index(node) :])
                del open_nodes[-len(members) :]
                closed |= members
                loop = len(members) > 1 or (node != cut and node in successors[node])
                components.append(_Component(node, members, loop, depth, cut))
    return components
