"""The sizes of one drawn case: some are given, the others drawn beside them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from gridstride.judge.cases.sizes import free_sizes, middling
from gridstride.judge.problem import Problem
from gridstride.judge.symbols import names

_GAPS = (0, 1, 3, 4, 17, 32)  # elements between the rows of an array with a stride


def among(draw: random.Random, problem: Problem, chosen: Mapping[str, int]) -> dict[str, int]:
    """These sizes, and others of middling size: odd ones, and such as vectors or whole warps fit."""
    sizes = {
        name: chosen[name] if name in chosen else middling(draw, limit) for name, limit in free_sizes(problem).items()
    }
    return strided(draw, problem, sizes)


def alone(draw: random.Random, problem: Problem, sizes: Mapping[str, int], *, least: int = 1) -> dict[str, int]:
    """These sizes, and next to nothing of the others: `least` or more, and two at least of what is in no output, such
    as the blocks of a cache or the terms of a sum: of one alone every place would hold the same.
    """
    output_sizes = frozenset[str]().union(*(names(extent) for p in problem.outputs for extent in p.shape))
    drawn = {
        name: draw.randint(min(least if name in output_sizes else max(least, 2), limit), min(3, limit))
        for name, limit in free_sizes(problem).items()
    }
    return strided(draw, problem, {**drawn, **sizes})


def stencil_sizes(draw: random.Random, problem: Problem, name: str) -> dict[str, int]:
    """A small size at its largest, the others two to three times as large as far as they go: an image in which every
    weight of a stencil of the largest radius counts.
    """
    most = problem.widest[name]
    sizes = {
        other_name: draw.randint(min(limit, 2 * most + 1), min(limit, 3 * most))
        for other_name, limit in free_sizes(problem).items()
    }
    return strided(draw, problem, {**sizes, name: most})


def strided(draw: random.Random, problem: Problem, sizes: Mapping[str, int]) -> dict[str, int]:
    """In the problem's order, with strides as wide as their rows or wider."""
    result = {**sizes, **{stride: sizes[width] + draw.choice(_GAPS) for stride, width in problem.strides.items()}}
    return {name: result[name] for name in problem.largest}


def vectorisable(draw: random.Random, problem: Problem) -> dict[str, int]:
    """Multiples of eight, most of them no multiple of a warp."""
    sizes = {
        name: max(1, draw.randint(max(1, limit // 16), max(1, limit // 8)) * 8) if limit >= 8 else limit
        for name, limit in free_sizes(problem).items()
    }
    result = {**sizes, **{stride: sizes[width] + 8 * draw.randint(0, 2) for stride, width in problem.strides.items()}}
    return {name: result[name] for name in problem.largest}


def one_of(draw: random.Random, members: Iterable[int]) -> int:
    return int(draw.choice(list(members)))
