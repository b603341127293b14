"""A case at which a kernel's products of 32 bits wrap, where one can be run: the timed sizes, or as much as fits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from math import prod

from gridstride.judge.cases.size_products import HELD, SizeProduct
from gridstride.judge.header import MULTIPROCESSORS, SymbolicLaunch
from gridstride.judge.problem import Case, Parameter, Problem
from gridstride.judge.symbols import ExpressionError, evaluate

_WORK = 1 << 31  # floating-point operations of a case
_MOST_ELEMENTS = 3 << 26  # of all arrays: as many as vector_add has when it is timed
_SMS = 132
_LEAST = 1 << 8  # the longest size
_SURELY = HELD * 9 // 4  # an unsigned number, too, in the last blocks
_MOSTLY = 4  # times that, of which a share of as much of what is read is left
_FEW = 16  # elements that are read for each that is written: one that is left out must decide the result


def product_cases(
    problem: Problem, launch: SymbolicLaunch, products: Iterable[SizeProduct], draw: random.Random
) -> Iterator[Case]:
    """Two cases, if any of the products wraps: at the largest sizes, and at the smallest ones where it surely does, or,
    if few elements are written, where little is left of what is read: what takes too long at the largest ends there.
    Its bound may be above what it ever is, so that the smallest alone may not do.
    """
    written = sum(_elements(p, problem.timed) for p in problem.parameters if p.written)
    read = sum(_elements(p, problem.timed) for p in problem.parameters if p.shape)
    enough = _SURELY * (_MOSTLY if written * _FEW <= read else 1)
    wrapping: list[dict[str, int]] = []
    for sizes in _halved(problem):
        largest = _largest_product(problem, launch, products, sizes)
        if largest <= (enough if wrapping else HELD):
            break
        wrapping.append(sizes)
    for sizes in (*wrapping[:1], *wrapping[1:][-1:]):
        yield Case(sizes, "normal", draw.randrange(2**31), hidden=True, once=True)


def _halved(problem: Problem) -> Iterator[dict[str, int]]:
    """The timed sizes, the longest one halved again and again, as soon as they fit."""
    sizes = dict(problem.timed)
    while max(sizes.values()) > _LEAST:
        if _fits(problem, sizes):
            yield dict(sizes)
        longest = max(sizes, key=lambda name: sizes[name])
        sizes[longest] //= 2


def _largest_product(
    problem: Problem, launch: SymbolicLaunch, products: Iterable[SizeProduct], sizes: Mapping[str, int]
) -> int:  # fmt: skip
    try:
        shape = launch.shape({**sizes, MULTIPROCESSORS: _SMS})
    except ExpressionError:
        return 0
    arguments = size_arguments(problem, sizes)
    return max((product.largest(shape, arguments) for product in products), default=0)


def size_arguments(problem: Problem, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes as the launch's arguments by place: "p2"."""
    return {f"p{i}": sizes[p.name] for i, p in enumerate(problem.parameters) if p.name in sizes}


def _fits(problem: Problem, sizes: Mapping[str, int]) -> bool:
    elements = sum(_elements(p, sizes) for p in problem.parameters if p.shape)
    return elements <= _MOST_ELEMENTS and problem.work(sizes)[0] <= _WORK


def _elements(parameter: Parameter, sizes: Mapping[str, int]) -> int:
    return prod(evaluate(extent, sizes) for extent in parameter.shape)
