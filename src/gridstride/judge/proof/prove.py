"""Proves that a problem can judge: what is right passes, and everything that is known to be wrong is told from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.cases.data import widened
from gridstride.judge.cases.sizes import WARP, free_sizes
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder, Listeners
from gridstride.judge.problem import Array, Problem
from gridstride.judge.proof.expectations import misread, read
from gridstride.judge.proof.imposters import Imposter, imposters
from gridstride.judge.reference.answers import answers, drawn
from gridstride.judge.reference.prepared_cases import PreparedCase, prepare
from gridstride.judge.verify import compared
from gridstride.protocol import Device

_BLOCK = 1024  # threads, the most that a block can have


@dataclass(frozen=True, slots=True)
class ProofTrial:
    """One thing that was put before the problem: whether it was to pass, whether it did, and what that rests on."""

    name: str
    must_pass: bool
    passed: bool
    reason: str

    @property
    def held(self) -> bool:
        """Whether the problem told right from wrong."""
        return self.passed == self.must_pass

    def json(self) -> dict[str, Any]:
        """One entry of `problem prove --json`."""
        return {"trial": self.name, "must": "pass" if self.must_pass else "fail", "held": self.held,
                "reason": self.reason}  # fmt: skip


def prove(
    folder: Folder, *, device: Device | str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Iterator[ProofTrial]:
    """Every trial as it is decided: the reference in lower precision and worse, then the folder's own kernels."""
    problem = folder.problem
    progress(f"{problem.name}: reference")
    yield _sizes(problem)
    prepared = prepare(problem, public_cases(problem))
    yield _same_again(problem, prepared)
    yield _same_precision(problem, prepared)
    for imposter in imposters(problem):
        progress(f"{problem.name}: {imposter.name}")
        trial = _imposter(problem, imposter, prepared)
        if trial is not None:
            yield trial
    yield from _kernels(folder, device, progress)


def _sizes(problem: Problem) -> ProofTrial:
    """Whether the sizes are such that a kernel for one size only is seen to be one."""
    name, public = "sizes that tell kernels apart", problem.public
    most = max(prod(problem.shape(p, problem.largest)) for p in problem.parameters if p.role != "scalar")
    free = [size for size, limit in free_sizes(problem).items() if limit > WARP]
    why = ""
    if most <= _BLOCK:
        why = f"with `largest` no array has more than {most} elements: a kernel of one block would pass; make it larger"
    for size in free:
        if not any(case[size] > WARP and case[size] % WARP for case in public):
            why = why or (
                f"in `public` every {size} is a whole number of warps or less than one: a kernel without a guard for "
                f"the tail would pass; add a case such as {size}={WARP + 5}"
            )
    for first, second in combinations(free, 2):
        if all(case[first] == case[second] for case in public):
            why = why or (
                f"in `public` {first} and {second} are always equal: a kernel that takes one for the other would pass; "
                f"add a case in which they differ, such as {first}={WARP + 5} and {second}={2 * WARP + 3}"
            )
    return ProofTrial(name, True, not why, why or "a tail, more than a block, and no two sizes that are always equal")


def _same_again(problem: Problem, prepared: Sequence[PreparedCase]) -> ProofTrial:
    """The same seed must give the same inputs, and the same inputs the same answers."""
    name = "the reference again, on the same inputs"
    for prepared_case in prepared:
        second_draw = drawn(problem, prepared_case.case)
        changed_names = [
            input_name
            for input_name, value in prepared_case.inputs.items()
            if not _same(value, second_draw[input_name])
        ]
        if changed_names:
            why = (
                f"{changed_names[0]} is drawn anew each time ({prepared_case.case}): let `arrange` and `special` "
                "draw from "
                "what they get"
            )
            return ProofTrial(name, True, False, why)
        wide = second_draw if problem.bitwise else {name: widened(value) for name, value in second_draw.items()}
        values = [{**answers(problem, prepared_case.case, wide)[0]} for _ in range(2)]
        for p in problem.outputs:
            if not _same(values[0][p.name], values[1][p.name]):
                why = (
                    f"{p.name} comes out differently the second time ({prepared_case.case}): a reference must not "
                    "draw random "
                    "numbers, remember anything, or write to its inputs; what is random belongs into the inputs"
                )
                return ProofTrial(name, True, False, why)
    return ProofTrial(name, True, True, f"the same values in all {len(prepared)} cases")


def _same(first: Any, second: Any) -> bool:
    return np.array_equal(np.asarray(first), np.asarray(second), equal_nan=np.asarray(first).dtype.kind == "f")


def _same_precision(problem: Problem, prepared: Sequence[PreparedCase]) -> ProofTrial:
    """The reference in the problem's own precision, on inputs as they are: NumPy adds in an order of its own. Halves
    are multiplied and added up in float32, as every correct kernel does, and rounded at the end.
    """
    name = "the reference in the problem's own precision"
    for prepared_case in prepared:
        values, _ = answers(
            problem, prepared_case.case, {name: _added_up_in(value) for name, value in prepared_case.inputs.items()}
        )
        with np.errstate(over="ignore"):  # what a dtype overflows to is Inf
            outputs = {p.name: np.asarray(values[p.name]).astype(p.dtype) for p in problem.outputs}
        for p in problem.outputs:
            wrong = _rejected(problem, prepared_case, p.name, outputs)
            if wrong:
                why = f"{wrong}; the tolerance is too tight: are `terms` and `magnitude` what is added up?"
                return ProofTrial(name, True, False, why)
    return ProofTrial(name, True, True, f"within the tolerance in all {len(prepared)} cases")


def _added_up_in(value: Any) -> Any:
    narrow = isinstance(value, np.ndarray) and value.dtype == np.float16
    return value.astype(np.float32) if narrow else value


def _imposter(problem: Problem, imposter: Imposter, prepared: Sequence[PreparedCase]) -> ProofTrial | None:
    """None where the imposter has no meaning for the problem: it is right in every case, or there is none."""
    case_count = 0
    for prepared_case in prepared:
        outputs = imposter.make(problem, prepared_case)
        if outputs is None:
            continue
        case_count += 1
        for name in outputs:
            wrong = _rejected(problem, prepared_case, name, outputs)
            if wrong:
                return ProofTrial(imposter.name, False, False, wrong)
    if not case_count:
        return None
    why = f"{imposter.story} passes all {case_count} cases in which it is wrong: {_remedy(problem, imposter)}"
    return ProofTrial(imposter.name, False, True, why)


def _remedy(problem: Problem, imposter: Imposter) -> str:
    if "fraction bits" in imposter.story:
        return "the tolerance is too wide: are `terms` and `magnitude` no more than what is added up?"
    return f"give `public` sizes and kinds of data (left out: {', '.join(problem.without) or 'none'}) that show it"


def _rejected(problem: Problem, prepared_case: PreparedCase, name: str, outputs: dict[str, Array]) -> str:
    """Why an output is rejected in a case; empty where it is not."""
    comparison = compared(problem, prepared_case, name, outputs)
    if comparison.passed:
        return ""
    wrong_count = int(comparison.wrong.sum())
    how = f"{wrong_count} of {comparison.wrong.size} elements" if wrong_count else "the errors taken together"
    return f"{name}: {how} beyond the tolerance ({prepared_case.case})"


def _kernels(folder: Folder, device: Device | str | None, progress: Callable[[str], None]) -> Iterator[ProofTrial]:
    texts = {path: read(path) for part in ("rungs", "wrong") for path in sorted((folder.path / part).glob("*.cu"))}
    unread = {path: why for path, why in texts.items() if isinstance(why, str)}
    for path, why in unread.items():
        yield ProofTrial(
            f"{path.parent.name}/{path.stem}", path.parent.name == "rungs", path.parent.name != "rungs", why
        )
    if not any(path.parent.name == "rungs" for path in texts):
        why = "there is none: nothing shows that a right kernel passes; put the simplest one into rungs/01_naive.cu"
        yield ProofTrial("rungs", True, False, why)
    if any(path.parent.name == "rungs" for path in unread):
        return  # the ladder cannot be climbed before that is mended
    ladder = Ladder(folder, device=device or "virtual", listeners=Listeners(progress))
    for result in ladder:
        first = result.findings[0] if result.findings else None
        reason = f"{first.kind}: {first.message}" if first else f"{result.cases} cases"
        yield ProofTrial(f"rungs/{result.rung}", True, first is None, reason)
    wrong = [file for path, file in texts.items() if path.parent.name == "wrong" and isinstance(file, KernelFile)]
    yield from (ProofTrial(f"wrong/{file.name}", False, True, why) for file in wrong if (why := misread(file.expect)))
    for rejection in ladder.rejections([file for file in wrong if not misread(file.expect)]):
        match = rejection.match
        found_kinds = ", ".join(f.kind for f in rejection.findings) or "nothing"
        reason = f"{match.kind}: {match.message}" if match else f"{rejection.expected} expected, {found_kinds} found"
        yield ProofTrial(f"wrong/{rejection.kernel}", False, match is None, reason)
