"""Cases that a kernel's own launch and text ask for: next to its tiles, at its branches, behind what it keeps."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from gridstride.judge.cases.branches import Branch, Combination, branches
from gridstride.judge.cases.case_list import ONCE, large_cases, ordered
from gridstride.judge.cases.coverage import kinds_when_crowded, placed, unit
from gridstride.judge.cases.data import kinds
from gridstride.judge.cases.drawn_sizes import alone, among, strided, vectorisable
from gridstride.judge.cases.far_sizes import far_cases
from gridstride.judge.cases.product_cases import product_cases
from gridstride.judge.cases.size_conditions import SizeCondition
from gridstride.judge.cases.size_products import SizeProduct
from gridstride.judge.cases.sizes import (
    BLOCKS,
    FLOAT_WIDTH,
    MOST_OF_SEVERAL_TURNS,
    TAILS,
    WIDTHS,
    crowded,
    free_sizes,
    launch_tiles,
    least_near,
    many_blocks,
    persistent,
    several_turns,
    whole_tiles,
)
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Case, Order, Problem

_FITTING = (256, 1024)  # elements of a row that kernels keep in registers, or have a thread for each of
_IN_STEP = 1024
"""Blocks, and up to twice as many, that are in step in one case."""
_BETWEEN: tuple[tuple[Order, int], ...] = (("reversed", 1), ("in step", 1), ("reversed", 3))  # launches of small sizes


@dataclass(frozen=True, slots=True)
class KernelText:
    """What a kernel's text says of the sizes that it must be run at: the fields of `KernelFacts` with these names."""

    float_index: bool = False
    conditions: tuple[SizeCondition, ...] = ()
    constants: tuple[int, ...] = ()
    products: tuple[SizeProduct, ...] = ()
    keeps: bool = False
    tallies: bool = True


def kernel_cases(
    problem: Problem, launch: SymbolicLaunch, text: KernelText, *, seed: int
) -> tuple[Case, ...]:  # fmt: skip
    """Cases next to the tiles of the kernel's own launch, where an index is too large for the float that it was, at
    both sides of what the kernel's text decides by, and where its products wrap; of one that keeps variables from
    launch to launch, a large size behind others.
    """
    draw = random.Random(f"{problem.name} {seed} launch")
    cases = []
    for name, tile in launch_tiles(problem, launch).items():
        for tail in (0, *TAILS):
            most = max(1, min(3, (problem.largest[name] - tail) // tile))
            size = draw.randint(1, most) * tile + tail
            cases.append(Case(among(draw, problem, {name: size}), "normal", draw.randrange(2**31), hidden=True))
    for name, tile in many_blocks(problem, launch).items():
        size = draw.randint(BLOCKS * tile + 1, problem.widest[name])
        cases.append(Case(alone(draw, problem, {name: size}), "normal", draw.randrange(2**31), hidden=True, once=True))
    for name, most in crowded(problem, launch, tallies=text.tallies).items():
        for kind in kinds_when_crowded(problem, tallies=text.tallies):
            size = draw.randint(least_near(most), most)
            single = Case(alone(draw, problem, {name: size}), kind, draw.randrange(2**31), multiprocessors=1)
            cases.append(replace(single, hidden=True, once=True))
    for sizes in persistent(problem, launch):
        cases.append(Case(sizes, "normal", draw.randrange(2**31), multiprocessors=1, hidden=True, once=True))
    cases += _in_turns(draw, problem, launch)
    for sizes in _whole_tiles(draw, problem, launch):
        cases.append(Case(sizes, "normal", draw.randrange(2**31), hidden=True))
    if text.float_index:
        far = [*_far(draw, problem), *large_cases(draw, problem, FLOAT_WIDTH)]
        cases += [replace(case, seed=draw.randrange(2**31), hidden=True) for case in far]
    cases += far_cases(problem, launch, text.constants, draw)
    cases += product_cases(problem, launch, text.products, draw)
    for branch in branches(problem, text.conditions, launch):
        reaching = _at_branch(draw, problem, branch)
        cases += [replace(case, seed=draw.randrange(2**31), hidden=True) for case in reaching]
    return (*ordered(cases), *(_left_over(draw, problem, launch) if text.keeps else ()))


def _in_turns(draw: random.Random, problem: Problem, launch: SymbolicLaunch) -> Iterator[Case]:
    """Blocks of one multiprocessor with many turns each, over rows that can be read in vectors, short ones among them
    (what is for rows that fit somewhere), and over any.
    """
    for name, turns in several_turns(problem, launch).items():
        short = [{**vectorisable(draw, problem), **_eights(draw, problem, most)} for most in _FITTING]
        for base_sizes in (*short, vectorisable(draw, problem), among(draw, problem, {})):
            sizes = strided(draw, problem, {**base_sizes, name: turns})
            if prod(sizes.values()) <= MOST_OF_SEVERAL_TURNS:
                yield Case(sizes, "normal", draw.randrange(2**31), multiprocessors=1, hidden=True, once=turns > ONCE)


def _eights(draw: random.Random, problem: Problem, most: int) -> dict[str, int]:
    """Every size that is drawn as a multiple of eight, up to `most`."""
    return {name: 8 * draw.randint(1, max(1, min(most, limit) // 8)) for name, limit in free_sizes(problem).items()}


def _whole_tiles(draw: random.Random, problem: Problem, launch: SymbolicLaunch) -> Iterator[dict[str, int]]:
    """Sizes without a tail anywhere, where a kernel may leave its guards out; the same with each that may be 0 as 0."""
    steps = whole_tiles(problem, launch)
    sizes = {n: step * draw.randint(1, max(1, min(2, problem.largest[n] // step))) for n, step in steps.items()}
    for empty in ("", *problem.zeros) if steps else ():
        yield strided(draw, problem, {name: 0 if name == empty else size for name, size in sizes.items()})


def _left_over(draw: random.Random, problem: Problem, launch: SymbolicLaunch) -> Iterator[Case]:
    """A large size, one or three small ones, and the large one in another order at once. What the first launch left for
    blocks that the small ones lack is taken for new where launches are told apart by one bit, or by two. And many
    blocks in step: who looks at what those before have left finds dozens that are no further than itself.
    """
    for name, tile in launch_tiles(problem, launch).items():
        most = problem.largest[name]
        sizes = alone(draw, problem, {name: draw.randint(most - most // 8, most)})
        for order, between in _BETWEEN:
            small = [alone(draw, problem, {name: draw.randint(1, tile)}) for _ in range(between)]
            for number, candidate in enumerate((sizes, *small, sizes)):
                seed, last = draw.randrange(2**31), number == between + 1
                yield Case(candidate, "normal", seed, hidden=True, order=order, once=True, swapped=last)
        if (least := _IN_STEP * tile) <= (most := problem.widest.get(name, 0)):
            sizes = alone(draw, problem, {name: draw.randint(least, min(most, 2 * least))})
            yield Case(sizes, "normal", draw.randrange(2**31), hidden=True, order="in step", once=True, swapped=True)


def _far(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """One size where a float does not hold every index, for problems whose sizes go far at all."""
    for name, most in problem.widest.items():
        if most > WIDTHS[-1]:
            far = FLOAT_WIDTH + draw.randint(1, 1 << 20)
            kind = problem.wide_data[-1] if problem.wide_data else "normal"
            yield Case(alone(draw, problem, {name: far}), kind, 0, once=True)


def _at_branch(draw: random.Random, problem: Problem, branch: Branch | Combination) -> Iterator[Case]:
    """Sizes at which a kernel takes a way of its own, with every kind of data, tail and place of an array."""
    usual = free_sizes(problem)

    def case(kind: str, residue: int | None = None, offsets: Mapping[str, int] = {}) -> Case:
        drawn = branch.drawn(draw, residue)
        far = any(size > usual[name] for name, size in drawn.items())
        sizes = alone(draw, problem, drawn) if far else among(draw, problem, drawn)
        return Case(sizes, kind, 0, offsets=offsets, once=max(drawn.values()) > ONCE)

    for kind in kinds(problem):
        yield case(kind)
    for residue in branch.residues:
        yield case("normal", residue)
    arrays = placed(problem)
    for p in arrays:
        yield case("normal", branch.residues[0], {p.name: unit(problem, p)})
    if len(arrays) > 1:
        yield case("normal", branch.residues[0], {p.name: unit(problem, p) for p in arrays})
