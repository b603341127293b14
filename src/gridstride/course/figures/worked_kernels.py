"""Figures of a day, each from a run of a worked kernel or program, of the lab, from a chip or a recorded result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gridstride.course.figures import program_runs
from gridstride.course.figures.arithmetic import evaluate, names
from gridstride.course.figures.figures import (
    LAB,
    element_names,
    elements,
    observe,
    observe_lab,
    of_chip,
    of_program,
    of_run,
    recorded,
)
from gridstride.course.lesson import Day, ProgramRun, WorkedLaunch

if TYPE_CHECKING:
    from gridstride.programs.process.confined import Outcome


@dataclass(slots=True)
class WorkedKernels:
    """Runs the worked kernels of a day, each once."""

    day: Day
    _observed_runs: dict[str, Any] = field(default_factory=dict)
    _outcomes: dict[str, Outcome] = field(default_factory=dict)

    def value(self, name: str, *, lab: Any = None) -> float:
        """The figure of that name; `lab` is the observed run of a learner's kernel, the solution's by default."""
        figure = self.day.figures[name]
        if figure.record:
            return recorded(figure)
        if figure.of:
            return evaluate(figure.value, {part: self.value(part, lab=lab) for part in figure.of})
        if figure.run:
            run = lab if figure.run == LAB and lab is not None else self.run(figure.run)
            if isinstance(run, dict):  # a program's
                return evaluate(figure.value, run)
            worked = self.day.runs.get(figure.run)
            if not isinstance(worked, WorkedLaunch):  # the lab's
                return evaluate(figure.value, of_run(run))
            element_values = elements(worked) if names(figure.value) & element_names(worked) else {}
            return evaluate(figure.value, {**of_run(run), **worked.sizes, **element_values})
        return evaluate(figure.value, of_chip(figure.chip))

    def run(self, name: str) -> Any:
        """The observed run of that name; of a program what it counted, by name. MissingToolchain."""
        if name not in self._observed_runs:
            self._observed_runs[name] = self._observed(name)
        return self._observed_runs[name]

    def outcome(self, name: str) -> Outcome:
        """What came of the program's run of that name. MissingToolchain."""
        run = self.day.runs[name]
        assert isinstance(run, ProgramRun)
        if name not in self._outcomes:
            self._outcomes[name] = program_runs.observe(run)
        return self._outcomes[name]

    def _observed(self, name: str) -> Any:
        run = self.day.runs.get(name)
        if isinstance(run, ProgramRun):
            return of_program(self.outcome(name))
        if run is not None:
            return observe(run)
        if self.day.lab.kind == "program":
            return program_runs.observe_lab(self.day, self.day.solution)
        return observe_lab(self.day, self.day.solution)
