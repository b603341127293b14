"""What the judge asks of a kernel, whether it runs in this process or in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.attempt import Attempt, Observed
from gridstride.judge.execution.blame import Blame
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.execution.lane_timeline import TimelineStep
from gridstride.judge.header import LaunchShape, SymbolicLaunch
from gridstride.judge.problem import Array, Case, Signature, Sizes, Values


class Subject(Protocol):
    """A kernel to be judged, wherever it runs."""

    def refusal(self, sizes: Sizes) -> str:
        """Why hardware would refuse the launch for these sizes, without running it; empty where it would not."""

    def attempt(self, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
        """Run the inputs in the same memory, the first one twice."""

    def observed(self, signature: Signature, case: Case, inputs: Values) -> Observed:
        """Run once with counters."""

    def blame(
        self, signature: Signature, case: Case, inputs: Values, name: str, wrong: Array, unwritten: Array
    ) -> Blame | None:
        """Who is behind the first wrong element of an output; None where nobody can tell."""

    def accesses(
        self, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]
    ) -> tuple[WarpAccess, ...]:
        """What the lanes of one warp touch on these lines."""

    def way_of_a_warp(self, signature: Signature, case: Case, inputs: Values) -> tuple[TimelineStep, ...]:
        """Which lanes of the first warp were on in each stretch of its way; nothing where that cannot be seen."""

    @property
    def facts(self) -> KernelFacts:
        """What the kernel's text says of it."""

    @property
    def launch(self) -> SymbolicLaunch:
        """Grid and block in expressions over the sizes."""

    def shape(self, sizes: Sizes, multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes."""
