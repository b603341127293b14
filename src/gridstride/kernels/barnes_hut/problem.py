"""Gravity by a tree (Barnes and Hut 1986): the acceleration of m bodies by a tree of n nodes, G = 1, softened, float32.

Nodes stand in the order in which a walk meets them, each before those within it. `nodes` are the centre of a node's
mass and its mass; `cells` the middle of its cube and the square of its side; `next` the number of the node behind all
that is within it. For each body the walk begins at node 0 and ends at next[0]. At node k, of a body at x,

    if |cell_k - x|² >= opening · side_k²:   a += mass_k (centre_k - x) / (|centre_k - x|² + softening)^(3/2)
                                             k = next_k
    else:                                    k = k + 1

with opening = 1 / theta². A node of one body has side 0: it is never opened. The middle of the cube decides, and bodies
are on whole numbers below 1024: both sides of the comparison are exact in float32, whatever a kernel does first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

EDGE = 1024  # of the root's cube; bodies are on whole numbers below it
BITS = 10
_AT_ONCE = 1 << 14  # bodies whose walks go side by side


@dataclass(frozen=True, slots=True)
class Children:
    """The nodes directly within each: of node k, `counts[k]` of `numbers` from `first[k]` on."""

    first: Array
    counts: Array
    numbers: Array


def within(behind: Array) -> Children:
    """Of all nodes, by the number of the node behind each."""
    count = int(behind[0])
    parents, open_nodes = np.empty(count, np.int64), [0]
    for node, end in enumerate(behind[:count].tolist()):
        while node and behind[open_nodes[-1]] <= node:
            open_nodes.pop()
        parents[node] = open_nodes[-1]
        if end > node + 1 and node:
            open_nodes.append(node)
    counts = np.bincount(parents[1:], minlength=count)
    return Children(np.cumsum(counts) - counts, counts, 1 + np.argsort(parents[1:], kind="stable"))


def reference(v: Values) -> dict[str, Array]:
    """The sum over the nodes that a walk does not open."""
    return {"accelerations": walked(v, absolute=False)}


def magnitude(v: Values) -> dict[str, Array]:
    """The sum of absolute values, three times, as for pairs of bodies."""
    return {"accelerations": 3 * walked(v, absolute=True)}


def walked(v: Values, *, absolute: bool) -> Array:
    """(m, 3), with all walks a level of the tree deeper at a time; `absolute`: the sum of the terms' sizes.

    Axes are arrays of their own: rows of three numbers take NumPy four times as long.
    """
    places, children = np.ascontiguousarray(v["bodies"][:, :3].T), within(v["next"])
    nodes, cells = np.ascontiguousarray(v["nodes"].T), np.ascontiguousarray(v["cells"].T)
    result = np.zeros(places.shape)
    for first in range(0, places.shape[1], _AT_ONCE):
        group = slice(first, first + _AT_ONCE)
        count = places[0, group].size
        body = np.arange(first, first + count)
        node = np.zeros(count, np.int64)
        while len(body):
            far = _squared(_away(cells, node, places, body)) >= v["opening"] * cells[3][node]
            apart, there = body[far], node[far]
            away = _away(nodes, there, places, apart)
            distance = _squared(away) + v["softening"]
            weight = nodes[3][there] / (distance * np.sqrt(distance))
            for axis in range(3):
                term = away[axis] * weight
                result[axis, group] += np.bincount(apart - first, abs(term) if absolute else term, count)
            body, node = body[~far], node[~far]
            many = children.counts[node]
            start = np.repeat(children.first[node] - np.cumsum(many) + many, many)
            body, node = np.repeat(body, many), children.numbers[start + np.arange(len(start))]
    return result.T


def _away(points: Array, number: Array, places: Array, body: Array) -> list[Array]:
    """By axis, from each body to its point."""
    return [points[axis][number] - places[axis][body] for axis in range(3)]


def _squared(away: list[Array]) -> Array:
    x, y, z = away
    return x * x + y * y + z * z


# -- trees -------------------------------------------------------------------------------------------------------------
def morton(places: Array) -> Array:
    """The bits of x, y and z in turn, of whole numbers below 1024: neighbours have numbers near to one another."""
    code = np.zeros(len(places), np.int64)
    for bit in range(BITS):
        for axis in range(3):
            code |= (places[:, axis].astype(np.int64) >> bit & 1) << (3 * bit + axis)
    return code


def tree(bodies: Array, size: int) -> dict[str, Array]:
    """Nodes, cells and next of the bodies (s, 4) on whole numbers.

    2 s - 1 nodes are enough, as a cube with all bodies in one of its eighths is left out for that one. Nodes behind the
    tree's, up to `size`, are heavy: nobody must walk there.
    """
    code = morton(bodies[:, :3])
    order = np.argsort(code, kind="stable")
    codes, starts = np.unique(code[order], return_index=True)
    moments = np.column_stack((bodies[order, 3:] * bodies[order, :3], bodies[order, 3]))
    sums = np.concatenate((np.zeros((1, 4)), np.cumsum(np.add.reduceat(moments, starts), 0)))
    places = bodies[order[starts], :3]
    ranges: list[tuple[int, int, int]] = []  # of each node its first body, the one behind its last, and its cube's bits
    behind: list[int] = []
    listed = codes.tolist()

    def add(first: int, last: int) -> None:
        node = len(ranges)
        level = ((listed[first] ^ listed[last - 1]).bit_length() + 2) // 3
        ranges.append((first, last, level))
        behind.append(0)
        at = first
        while level and at < last:
            eighth = listed[at] >> 3 * (level - 1)
            end = int(np.searchsorted(codes[at:last], (eighth + 1) << 3 * (level - 1))) + at
            add(at, end)
            at = end
        behind[node] = len(ranges)

    add(0, len(listed))
    first, last, level = np.array(ranges).T
    count, moment = len(ranges), sums[last] - sums[first]
    single = level == 0
    centre = np.where(single[:, None], places[first], moment[:, :3] / moment[:, 3:])
    side = np.where(single, 0, 1 << level)
    corner = places[first] // np.maximum(side, 1)[:, None] * side[:, None]
    middle = np.where(single[:, None], places[first], corner + side[:, None] / 2)
    nodes, cells = np.full((size, 4), 500.0), np.full((size, 4), 500.0)
    nodes[:count] = np.column_stack((centre, moment[:, 3]))
    cells[:count] = np.column_stack((middle, side.astype(np.float64) ** 2))
    following = np.arange(1, size + 1)
    following[:count] = behind
    return {"nodes": nodes.astype(np.float32), "cells": cells.astype(np.float32), "next": following.astype(np.int32)}


def on_the_grid(drawn: Array) -> Array:
    """Bodies on whole numbers below 1024, with masses between 0.05 and 1."""
    squashed = drawn / (1 + abs(drawn))
    places = np.floor(EDGE / 2 * (1 + squashed[:, :3])).clip(0, EDGE - 1)
    return np.column_stack((places, 0.05 + 0.95 * abs(squashed[:, 3]))).astype(np.float32)


def grown(v: Values) -> dict[str, Any]:
    """A tree of as many of the drawn bodies as have room in it, and bodies in an order in which neighbours are near."""
    bodies = on_the_grid(v["bodies"])
    sources = on_the_grid(v["nodes"][: (len(v["nodes"]) + 1) // 2])
    opening, softening = (abs(v[name]) / (1 + abs(v[name])) for name in ("opening", "softening"))
    return {
        **tree(sources.astype(np.float64), len(v["nodes"])),
        "bodies": bodies[np.argsort(morton(bodies), kind="stable")],
        "opening": float(np.float32(1 + 4 * opening)),
        "softening": float(np.float32(0.5 + 16 * softening)),
    }


def in_any_order(v: Values, draw: Generator) -> dict[str, Any]:
    """Bodies that are neighbours in memory are none in space."""
    return {"bodies": draw.permutation(v["bodies"])}


def just_far_enough(v: Values, draw: Generator) -> dict[str, Any]:
    """Bodies around a node for which both sides of its comparison are equal, or one rounding apart: who divides, or
    takes roots, takes less for more or one for the other.
    """
    cells = v["cells"][: v["next"][0]]
    small = np.flatnonzero((cells[:, 3] > 0) & (cells[:, 3] <= 64**2))
    if not len(small):
        return {}
    node = cells[small[draw.integers(len(small))]]
    middle, area = node[:3], node[3]
    reach = int(2 * area**0.5)
    offsets = draw.integers(-reach, reach + 1, (256, 3))
    offsets = offsets[abs((offsets**2).sum(1) / area - 3) <= 2]
    if not len(offsets):
        return {}
    openings = ((offsets**2).sum(1) / area).astype(np.float32)
    by_reciprocal = openings * np.float32(area) * (1 / openings) < area
    offset, opening = offsets[by_reciprocal.argmax()], openings[by_reciprocal.argmax()]
    if draw.random() < 0.5:
        opening = np.nextafter(opening, np.float32(np.inf))
    bodies = v["bodies"].copy()
    many = (len(bodies) + 1) // 2
    turned = draw.permuted(np.tile(offset, (many, 1)), axis=1) * draw.choice([-1, 1], (many, 3))
    places = middle + turned
    inside = ((places >= 0) & (places < EDGE)).all(1)
    bodies[:many][inside, :3] = places[inside]
    return {"bodies": bodies, "opening": float(opening)}


def every_pair(v: Values, draw: Generator) -> dict[str, Any]:
    """A theta of nearly 0, so that every node is opened that can be; bodies are sources too, as far as there are."""
    single = np.flatnonzero(v["cells"][: v["next"][0], 3] == 0)
    bodies = v["bodies"].copy()
    many = min(len(bodies), len(single))
    bodies[:many] = v["nodes"][single[:many]]
    return {"bodies": bodies, "opening": 1e30}


def clusters(v: Values, draw: Generator) -> dict[str, Any]:
    """Few groups of bodies close to one another, far apart: deep trees, and walks of very different lengths."""
    groups = draw.integers(16, EDGE - 16, (4, 3))
    many = (len(v["nodes"]) + 1) // 2
    sources = np.column_stack((groups[draw.integers(4, size=many)] + draw.integers(-8, 8, (many, 3)),
                               draw.uniform(0.05, 1, many)))  # fmt: skip
    bodies = v["bodies"].copy()
    half = len(bodies) // 2
    bodies[:half, :3] = groups[draw.integers(4, size=half)] + draw.integers(-8, 8, (half, 3))
    return {**tree(sources, len(v["nodes"])), "bodies": bodies}


problem = Problem(
    name="barnes_hut",
    title="Gravity by a tree, Barnes and Hut, float32",
    parameters=(
        array("bodies", "float32", "m", "4"),
        array("nodes", "float32", "n", "4"),
        array("cells", "float32", "n", "4"),
        array("next", "int32", "n"),
        array("accelerations", "float32", "m", "3", role="out"),
        size("m"),
        size("n"),
        scalar("opening"),
        scalar("softening"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=grown,
    launch=SymbolicLaunch(grid=("ceil(m/128)",), block=("128",)),  # a thread for each body, not for each number
    special={
        "in any order": in_any_order,
        "just far enough": just_far_enough,
        "every pair": every_pair,
        "clusters": clusters,
    },
    terms="n+8",
    without={
        "nonfinite": "a tree is of bodies that have a place",
        "not a number": "a tree is of bodies that have a place",
    },
    public=(
        {"m": 256, "n": 256},
        {"m": 1000, "n": 301},
        {"m": 2, "n": 600},
        {"m": 129, "n": 1},
        {"m": 515, "n": 129},
        {"m": 1, "n": 1},
        {"m": 37, "n": 70},
    ),
    largest={"m": 500, "n": 300},
    widest={"m": 70_000, "n": 5_000},
    tiles=(32, 64, 128, 256),
    observed={"m": 8192, "n": 1024},
    timed={"m": 1 << 18, "n": 1 << 13},
    flops="3000*m",
    bytes="28*m+36*n",
    pieces="m",
)
