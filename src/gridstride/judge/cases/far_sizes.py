"""Sizes beyond those that every kernel is run at, up to the timed one: where this kernel's own numbers end.

A count of 24 bits, a guard, a table or a capped grid is right up to a number, and that number stands in the kernel's
text or follows from its launch. The size just past it is run once, on all cores and without the sanitizer. Numbers up
to 2^18 are many in any text: where no other case is as large as that, one is, whatever the text says.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from math import prod

from gridstride.judge.header import MULTIPROCESSORS, SymbolicLaunch
from gridstride.judge.problem import Case, Problem
from gridstride.judge.symbols import ExpressionError, evaluate, names

_LEAST, _MOST = 1 << 18, 1 << 31
_ELEMENTS = 160 << 20  # of all arrays of a case together
_USUAL_ELEMENTS = 4 << 20  # of one that every kernel gets
_SIZES = 3  # of one kernel
_MARGIN = 1 << 10  # elements past a number
_SMS = 132
_BLOCK = 1024  # threads of a block, at most
_FIRST = 2  # the least that a search gives
_BITS_OF_A_MASK = 8  # in a row, at the least
_EXPONENTIAL = range(3 << 22, (3 << 22) + 2)  # 1.5 * 2^23: expf adds it to round, whatever the size is
_INTEGER = re.compile(r"(?<![\w.%$])(-?\d{6,10}|0[xX][0-9a-fA-F]{5,8})(?![\w.])")
_FLOAT = re.compile(r"\b0[fF]([0-9a-fA-F]{8})\b")
_DIRECTIVE = re.compile(r"^\s*(?:\.|//).*$", re.MULTILINE)


def far_constants(ptx: str) -> tuple[int, ...]:
    """Whole numbers above 2^18 among a text's constants, and what masks of so many bits, low ones or not, are below."""
    code = _DIRECTIVE.sub("", ptx)
    constants = {abs(int(text, 0)) for text in _INTEGER.findall(code)}
    floats = {abs(struct.unpack(">f", bytes.fromhex(text))[0]) for text in _FLOAT.findall(code)}
    constants |= {int(number) for number in floats if _LEAST < number < _MOST and number == int(number)}
    ends = {number + (number & -number) for number in constants if number.bit_count() >= _BITS_OF_A_MASK}
    masks = {end for end in ends if end & end - 1 == 0}
    return tuple(sorted(n for n in constants | masks if _LEAST < n < _MOST and n not in _EXPONENTIAL))


def far_sizes(problem: Problem, launch: SymbolicLaunch, constants: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Sizes that go far alone, each with what it must pass: constants, and where the grid stops to grow."""
    for name, most in problem.widest.items():
        timed = problem.timed[name]
        if timed > _LEAST:
            ends = sorted({*constants, *_ends_of_growth(problem, launch, name)})
            passed = [end for end in ends if most < end < timed and _elements(problem, name, end) <= _ELEMENTS]
            yield from ((name, end) for end in passed[-_SIZES:])


def _past(problem: Problem, name: str, end: int, draw: random.Random) -> int:
    """A size past the end: two or four times as far where there is room: what is behind it decides something then."""
    far = (multiple * end for multiple in (4, 2) if multiple * end < problem.timed[name])
    size = next((size for size in far if _elements(problem, name, size) <= _ELEMENTS), end)
    return size + draw.randint(1, _MARGIN)


def far_cases(
    problem: Problem, launch: SymbolicLaunch, constants: Iterable[int], draw: random.Random
) -> Iterator[Case]:
    """One case past each of them, and one of a size up to which a text's numbers say nothing."""
    far = [(name, _past(problem, name, end, draw)) for name, end in far_sizes(problem, launch, constants)]
    for name, size in (*usual_far_sizes(problem, draw), *far):
        sizes = {**dict.fromkeys(problem.largest, 1), name: size}
        yield Case(sizes, "normal", draw.randrange(2**31), hidden=True, once=True)


def usual_far_sizes(problem: Problem, draw: random.Random) -> Iterator[tuple[str, int]]:
    """A size of some 2^18 for each that goes less far in all other cases, and further when it is timed; less where its
    arrays would be too large.
    """
    for name, most in problem.widest.items():
        room = _USUAL_ELEMENTS // max(1, _elements(problem, name, 1))
        last = min(_LEAST + _MARGIN, problem.timed[name], room)
        if most < min(_LEAST, last):
            yield name, draw.randint(max(most, last - last // 8), last)


def _ends_of_growth(problem: Problem, launch: SymbolicLaunch, name: str) -> Iterator[int]:
    """The size from which on the grid is that of the timed size, with an eighth of its elements behind it; a far size
    for a large grid of a fixed number; and the first with more blocks than a block has threads, which may join them.
    """
    timed = problem.timed[name]

    def blocks(value: int) -> int:
        return prod(launch.shape({**problem.timed, name: value, MULTIPROCESSORS: _SMS}).grid)

    try:
        last, threads = blocks(timed), prod(launch.shape({**problem.timed, MULTIPROCESSORS: _SMS}).block)
        stops = _first(timed, lambda value: blocks(value) == last)
        if stops > _FIRST:
            yield stops + stops // 8
        elif last * threads >= _LEAST and not any(MULTIPROCESSORS in names(extent) for extent in launch.grid):
            yield timed // 8  # not of one block, which takes its time, nor of a grid that is made for a loop
        if last > _BLOCK:
            yield _first(timed, lambda value: blocks(value) > _BLOCK)
    except ExpressionError:
        return


def _first(most: int, holds: Callable[[int], bool]) -> int:
    """The first number up to `most` from which on it holds, as it does at `most`."""
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _elements(problem: Problem, name: str, value: int) -> int:
    sizes = {**dict.fromkeys(problem.largest, 1), name: value}
    return sum(prod(evaluate(extent, sizes) for extent in p.shape) for p in problem.parameters if p.shape)
