"""Kernels as learners, experts and language models write them: wrong ones fall for their fault, right ones pass.

One run each, with a seed of its own. There are too many for every run of the tests: a wrong one of every second problem
and a right one of every fourth are judged in all, every sixth or eighth one (SHARE) in the long one, and every one, as
often as asked for, by `bench/plausible.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import submission
from gridstride.virtual.gpu import VirtualGPU

from .plausible.collection import PlausibleKernel, right_kernels, wrong_kernels

SHARE = {"known": 6, "unseen": 8}  # one of so many of a problem's kernels is judged
WRONG = [kernel for each in SHARE for kernel in wrong_kernels(each)]
RIGHT = [kernel for each in SHARE for kernel in right_kernels(each)]
QUICK_WRONG, QUICK_RIGHT = 2, 4  # of every so many problems the first one is judged in every run
LONG = {"histogram/byte_counters.cu", "remove_mean/everyone_sums.cu"}  # wrong, or right, at large sizes alone


def chosen(kernels: Callable[[str], Iterator[PlausibleKernel]], quick: int) -> Iterator[object]:
    """Parameters of a test: the first one of some problems as it is, the others marked slow."""
    judged = [kernel for each, share in SHARE.items() for kernel in shared(kernels(each), share)]
    problems = itertools.groupby(sorted(judged, key=lambda k: k.name), key=lambda k: k.problem)
    for place, (_, group) in enumerate(problems):
        for number, kernel in enumerate(group):
            always = place % quick == 0 and number == 0 and kernel.name not in LONG
            yield pytest.param(kernel, id=kernel.name, marks=() if always else (pytest.mark.slow,))


def shared(kernels: Iterator[PlausibleKernel], share: int) -> Iterator[PlausibleKernel]:
    """Of each problem the first, and one of so many behind it."""
    for _, group in itertools.groupby(sorted(kernels, key=lambda k: k.name), key=lambda k: k.problem):
        yield from itertools.islice(group, 0, None, share)


def kinds_found(kernel: PlausibleKernel, seed: int) -> set[str]:
    python = kernel.path.suffix == ".py"
    if python and why_not():
        pytest.skip(why_not())
    climbing = Ladder(find(kernel.problem), device=VirtualGPU("h200", time_limit=20), seed=seed, sandbox=python)
    try:
        return {finding.kind for finding in climbing.judge(submission(kernel.path)).findings}
    finally:
        climbing.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kernel", list(chosen(wrong_kernels, QUICK_WRONG)))
def test_a_wrong_kernel_is_rejected_for_its_fault(kernel: PlausibleKernel) -> None:
    assert kinds_found(kernel, seed=2026) & kernel.kinds


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kernel", list(chosen(right_kernels, QUICK_RIGHT)))
def test_an_unusual_kernel_that_is_right_is_accepted(kernel: PlausibleKernel) -> None:
    assert kinds_found(kernel, seed=2026) == set()


def test_the_collection_is_as_large_as_its_figures_say() -> None:
    assert len(WRONG) >= 300
    assert len(RIGHT) >= 120
    assert {kernel.problem for kernel in WRONG} >= {kernel.problem for kernel in RIGHT}
