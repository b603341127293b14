"""Cases with their data and what must come of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from gridstride.judge.cases.data import partly, widened
from gridstride.judge.problem import Case, Problem
from gridstride.judge.reference.answers import answers, drawn
from gridstride.judge.reference.tolerance import Expected, expect

_OTHER_SEED = 1 << 20  # apart from the seeds of the public cases


@dataclass(frozen=True, slots=True)
class PreparedCase:
    """A case with its data and what each output must be; made once, used for every kernel.

    `second` is other data of the same shape, which the kernel finds in the same memory afterwards, and in other memory.
    """

    case: Case
    inputs: dict[str, Any]
    expected: dict[str, Expected]
    second: PreparedCase | None = None


class PreparedCases(Sequence[PreparedCase]):
    """Cases whose data and expected results are made when they are asked for: a kernel that falls in the first case
    waits for no other.
    """

    def __init__(self, makers: Iterable[Callable[[], PreparedCase]]) -> None:
        self._makers = tuple(makers)

    @overload
    def __getitem__(self, index: int) -> PreparedCase: ...
    @overload
    def __getitem__(self, index: slice) -> PreparedCases: ...
    def __getitem__(self, index: int | slice) -> PreparedCase | PreparedCases:
        if isinstance(index, slice):
            return PreparedCases(self._makers[index])
        return self._makers[index]()

    def __len__(self) -> int:
        return len(self._makers)

    def __add__(self, appended: PreparedCases) -> PreparedCases:
        return PreparedCases((*self._makers, *appended._makers))


def prepare(problem: Problem, cases: Iterable[Case], *, keep: bool = True) -> PreparedCases:
    """Data and expected results of each case, and of the data that comes after it where other data does. Those of one
    kernel alone are made each time they are asked for (`keep` False): some take a gigabyte.
    """
    makers = (functools.partial(_followed, problem, case) for case in cases)
    return PreparedCases(map(functools.cache, makers) if keep else makers)


def _followed(problem: Problem, case: Case) -> PreparedCase:
    """Every other time what follows is data that differ in some places only; not where they must fit each other."""
    inputs = drawn(problem, case)
    prepared_case = _prepare(problem, case, inputs)
    if not case.again:
        return prepared_case
    second_case = replace(case, seed=case.seed + _OTHER_SEED)
    second_inputs = drawn(problem, second_case)
    if case.seed // 2 % 2 and case.data not in problem.special and problem.arrange is None:
        second_inputs = partly(problem, inputs, second_inputs, second_case.seed)
    return replace(prepared_case, second=_prepare(problem, second_case, second_inputs))


def _prepare(problem: Problem, case: Case, inputs: dict[str, Any]) -> PreparedCase:
    wide = inputs if problem.bitwise else {name: widened(value) for name, value in inputs.items()}
    values, magnitudes = answers(problem, case, wide)
    expected = {p.name: expect(problem, case, p, values[p.name], magnitudes.get(p.name)) for p in problem.outputs}
    return PreparedCase(case, inputs, expected)
