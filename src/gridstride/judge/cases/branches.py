"""The sizes at which a kernel takes a way of its own, found from the conditions that its text decides by.

A comparison that changes once has two sides, each a range of one size. Several together, or a remainder, or a product,
have no such ranges: sizes are tried by the thousand, and those are kept at which the conditions are true and false
together as they seldom are at the usual sizes.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from gridstride.judge.cases.size_conditions import ORDERS, SizeCondition, changes
from gridstride.judge.cases.sizes import VECTOR, free_sizes, middling
from gridstride.judge.header import MULTIPROCESSORS, SymbolicLaunch
from gridstride.judge.problem import Array, Case, Problem
from gridstride.judge.symbols import ExpressionError, evaluate, names

_LEAST_BRANCH = 24  # a smaller size that a kernel decides by is a loop that the compiler unrolled, or covered anyway
_BESIDE = 2  # the other sizes, where one goes far
_SMS = 132  # multiprocessors, where a case is of no chip
_USUAL = 300  # usual sizes that are looked at
_TRIED = 3000  # sizes of all sorts
_COMMON = 0.12  # of the usual sizes: a verdict sees such ones with every kind of data
_WORK = 1 << 25  # operations or bytes of an answer up to which sizes are tried
_MOST = 5  # combinations of a kernel that are run
_SHAPES = 8  # of a block, along one axis
_MEMBERS = 48  # sizes that are kept of each
_STEPS = (1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 64, 128)  # what sizes are multiples of
Sizes = Mapping[str, int]
Signature = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Sizes `first` to `last` of `name`, at one side of where a kernel's text decides. The `other_sizes` that it
    decides by, if any, are as they were when the place was found.
    """

    name: str
    first: int
    last: int
    other_sizes: Sizes

    def __str__(self) -> str:
        return f"{self.name} = {self.first:,} to {self.last:,}"

    @property
    def residues(self) -> tuple[int, ...]:
        """Remainders of `name` by a vector's elements that occur here."""
        return tuple(range(VECTOR))

    def holds(self, case: Case) -> bool:
        """Whether the case is of these sizes."""
        return self.first <= case.sizes[self.name] <= self.last

    def drawn(self, draw: random.Random, residue: int | None = None) -> dict[str, int]:
        """Sizes that belong here, without those that it does not hang on."""
        size = draw.randint(self.first, self.last)
        if residue is not None:
            first = self.first + (residue - self.first) % VECTOR
            size = draw.randrange(first, self.last + 1, VECTOR)
        return {**self.other_sizes, self.name: size}


@dataclass(frozen=True, slots=True)
class Combination:
    """Sizes at which a kernel's conditions are true and false together in a way that the usual sizes seldom are.

    `name` is the size whose remainders are told apart, `members` are some of them, without strides.
    """

    name: str
    number: int
    signature: Signature
    members: tuple[Sizes, ...]
    decisions: Decisions = field(repr=False, compare=False)

    def __str__(self) -> str:
        return "sizes as " + ", ".join(f"{name} = {size:,}" for name, size in self.members[0].items())

    @property
    def residues(self) -> tuple[int, ...]:
        """Remainders of `name` by a vector's elements that occur here."""
        return tuple(sorted({member[self.name] % VECTOR for member in self.members}))

    def holds(self, case: Case) -> bool:
        """Whether the case is of such sizes."""
        return self.decisions.of(case) == self.signature

    def drawn(self, draw: random.Random, residue: int | None = None) -> dict[str, int]:
        """Sizes that belong here."""
        fit = [member for member in self.members if residue in (None, member[self.name] % VECTOR)]
        return dict(draw.choice(fit))


class Decisions:
    """What a kernel's conditions on the problem's sizes are for given sizes; others of its conditions are left out."""

    def __init__(self, problem: Problem, launch: SymbolicLaunch | None, conditions: Iterable[SizeCondition]) -> None:
        self._launch = launch
        self._parameter_of = {f"p{position}": p.name for position, p in enumerate(problem.parameters)}
        self._signatures: dict[tuple[tuple[int, ...], int | None], Signature] = {}
        free = free_sizes(problem)
        of_launch = {f"{letter}{axis}" for letter in "gb" for axis in range(3)} if launch else set()
        usable = {position for position, name in self._parameter_of.items() if name in free} | of_launch
        self.conditions = tuple(condition for condition in conditions if condition.variables <= usable)

    def keep(self, numbers: Collection[int]) -> None:
        """Only these conditions count from now on."""
        self.conditions = tuple(self.conditions[number] for number in numbers)
        self._signatures.clear()

    def table(self, rows: Sequence[Sizes], multiprocessors: int | None = None) -> Array:
        """True and false, by row and condition."""
        variables = frozenset[str]().union(*(condition.variables for condition in self.conditions))
        values = {variable: np.array([row[self._parameter_of[variable]] for row in rows], np.int64)
                  for variable in variables if variable in self._parameter_of}  # fmt: skip
        if variables - values.keys():
            values |= self._of_launch(rows, multiprocessors)
        columns = [np.broadcast_to(condition.true_of(values), len(rows)) for condition in self.conditions]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), bool)

    def of(self, case: Case) -> Signature:
        """For one case."""
        key = (*case.sizes.values(),), case.multiprocessors
        if key not in self._signatures:
            self._signatures[key] = tuple(self.table([case.sizes], case.multiprocessors)[0].tolist())
        return self._signatures[key]

    def _of_launch(self, rows: Sequence[Sizes], multiprocessors: int | None) -> dict[str, Array]:
        shapes = [self._shape({**row, MULTIPROCESSORS: multiprocessors or _SMS}) for row in rows]
        return {f"{letter}{axis}": np.array([shape[index][axis] for shape in shapes], np.int64)
                for index, letter in enumerate("gb") for axis in range(3)}  # fmt: skip

    def _shape(self, symbols: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Grid and block; zeros for sizes that have none."""
        assert self._launch is not None
        try:
            shape = self._launch.shape(symbols)
        except ExpressionError:
            return (0, 0, 0), (0, 0, 0)
        return (*shape.grid,), (*shape.block,)


def branches(
    problem: Problem, conditions: Iterable[SizeCondition], launch: SymbolicLaunch | None = None
) -> list[Branch | Combination]:
    """Both sides of each place where a kernel decides by a size, what lies above the usual sizes only past it; then the
    combinations that neither these nor the usual sizes meet.
    """
    all_conditions = tuple(conditions)
    unique: dict[tuple[str, int], Branch] = {}
    for condition in all_conditions:
        for branch in _sides(problem, condition):
            unique.setdefault((branch.name, branch.first), branch)
    return [*unique.values(), *_combinations(problem, launch, all_conditions, [*unique.values()])]


def _sides(problem: Problem, condition: SizeCondition) -> Iterator[Branch]:
    usual = free_sizes(problem)
    names = {f"p{position}": p.name for position, p in enumerate(problem.parameters) if p.name in usual}
    if condition.comparison not in ORDERS or not condition.variables <= names.keys():
        return
    about = {variable: names[variable] for variable in sorted(condition.variables)}
    for name in about.values():
        most = _most(problem, name)
        other_sizes = {other: min(_BESIDE, usual[other]) for other in about.values() if other != name}

        def holds(size: int, name: str = name, beside: Sizes = other_sizes) -> bool:
            sizes = {**beside, name: size}
            return bool(condition.true_of({v: np.array([sizes[of]], np.int64) for v, of in about.items()})[0])

        yield from _beside_changes(name, changes(holds, most), usual[name], most, other_sizes)


def _beside_changes(name: str, rows: Iterable[int], usual: int, most: int, other_sizes: Sizes) -> Iterator[Branch]:
    for last in rows:
        reach = max(4 * VECTOR, last // 16)
        if last >= _LEAST_BRANCH and last + VECTOR <= most:
            yield Branch(name, last + 1, min(last + reach, most), other_sizes)
            if last <= usual:
                yield Branch(name, last - reach + 1, last, other_sizes)


def _most(problem: Problem, name: str) -> int:
    return problem.widest.get(name, problem.largest[name])


# -- combinations ------------------------------------------------------------------------------------------------------
def _combinations(
    problem: Problem, launch: SymbolicLaunch | None, conditions: Sequence[SizeCondition], sides: Sequence[Branch]
) -> list[Combination]:
    decisions = Decisions(problem, launch, [*conditions, *_block_shapes(problem, launch)])
    if not decisions.conditions:
        return []
    draw = random.Random(f"{problem.name} combinations")
    free = free_sizes(problem)
    usual = [{name: middling(draw, limit) for name, limit in free.items()} for _ in range(_USUAL)]
    rows = [*usual, *_of_all_sorts(draw, problem, decisions.conditions)]
    decisions.keep(_telling(decisions.table(rows)))
    if not decisions.conditions:
        return []
    signatures = [tuple(row) for row in decisions.table(rows).tolist()]
    shares = Counter(signatures[:_USUAL])
    common = [branch for branch, count in shares.items() if count >= _COMMON * _USUAL]
    side_sizes = [{**usual[number], **side.drawn(draw)} for side in sides for number in range(_BESIDE)]
    common += [tuple(row) for row in decisions.table(side_sizes).tolist()] if side_sizes else []
    last = max(range(len(free)), key=lambda subset: [*free.values()][subset])
    combinations = []
    for number, signature in enumerate(_rare(signatures, common)):
        rows_of_signature = (row for row, own in zip(rows, signatures, strict=True) if own == signature)
        members = sorted(rows_of_signature, key=partial(_work, problem))
        combinations.append(Combination([*free][last], number, signature, tuple(members[:_MEMBERS]), decisions))
    return combinations


def _block_shapes(problem: Problem, launch: SymbolicLaunch | None) -> Iterator[SizeCondition]:
    """Whether the block has so many threads along an axis, where the launch makes them of sizes: it decides, too."""
    for axis, expression in enumerate(launch.block if launch else ()):
        if names(expression) & set(free_sizes(problem)):
            draw = random.Random(f"{problem.name} block")
            counts = Counter(_evaluated(expression, row) for row in _of_all_sorts(draw, problem, ()))
            for threads, _ in counts.most_common(_SHAPES) if len(counts) > 1 else ():
                yield SizeCondition((f"b{axis}",), "eq", "u32", (threads,))


def _evaluated(expression: str, sizes: Sizes) -> int:
    try:
        return max(0, evaluate(expression, {**sizes, MULTIPROCESSORS: _SMS}))
    except ExpressionError:
        return 0


def _telling(table: Array) -> list[int]:
    """The conditions that are true here and false there, each once: one that says the opposite says the same."""
    first_of_column: dict[bytes, int] = {}
    for number, column in enumerate(table.T):
        if column.any() and not column.all():
            first_of_column.setdefault((column ^ column[0]).tobytes(), number)
    return [*first_of_column.values()]


def _rare(signatures: Iterable[Signature], common: Iterable[Signature]) -> Iterator[Signature]:
    """Those that show most ways of three conditions, or fewer, to be true and false together that were not seen."""
    remaining = Counter(signatures)
    covered = {way for signature in set(common) for way in _ways(signature)}
    ways = {signature: _ways(signature) for signature in remaining}
    for _ in range(_MOST):
        best = max(remaining, key=lambda signature: (len(ways[signature] - covered), remaining[signature]))
        if not ways[best] - covered:
            return
        yield best
        covered |= ways[best]


def _ways(signature: Signature) -> frozenset[tuple[tuple[int, bool], ...]]:
    terms = tuple(enumerate(signature))
    return frozenset(way for length in (1, 2, 3) for way in itertools.combinations(terms, length))


def _of_all_sorts(
    draw: random.Random, problem: Problem, conditions: Iterable[SizeCondition]
) -> Iterator[dict[str, int]]:
    """Sizes small and large, multiples of what sizes are multiples of, and next to the numbers that are compared."""
    free = free_sizes(problem)
    numbers = sorted(
        {near for condition in conditions for value in condition.constants for near in (value - 1, value, value + 1)}
    )
    for _ in range(_TRIED):
        row = {name: _of_some_sort(draw, free[name], _most(problem, name), numbers) for name in free}
        if _work(problem, row) <= _WORK:
            yield row


def _of_some_sort(draw: random.Random, usual: int, most: int, numbers: Sequence[int]) -> int:
    sort = draw.random()
    least = min(_LEAST_BRANCH, usual)
    if sort < 0.2 and numbers:
        size = draw.choice(numbers)
    elif sort < 0.6:
        size = draw.randint(least, usual)
    else:
        limit = usual if sort < 0.8 else most
        size = round(least * (limit / least) ** draw.random())
    step = draw.choice(_STEPS) if sort >= 0.2 else 1
    return min(max(size // step * step, step, least), most)


def _work(problem: Problem, sizes: Sizes) -> int:
    """Operations of the answer at these sizes, or its bytes if they are more; strides are as wide as their rows."""
    strides = {stride: sizes[width] for stride, width in problem.strides.items()}
    return max(problem.work({**sizes, **strides}))
