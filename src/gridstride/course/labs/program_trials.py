"""One run of a learner's program: its sizes and data drawn anew, and what comes of it in the room."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.course.figures.figures import of_program
from gridstride.course.files.program_lab_file import problem_of
from gridstride.course.labs.program_results import COPY_LOG, Results
from gridstride.course.lesson import LabRun, LabSpec

if TYPE_CHECKING:
    from gridstride.judge.reference.prepared_cases import PreparedCase
    from gridstride.programs.process.confined import Outcome

_IDLE_SECONDS = 10.0
"""For a run whose kernels do nothing: some programs then wait for ever."""
_SEED = 1 << 30


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """One run's sizes, and the problem's data and answers where the lab has a problem. `seed` is of an order of blocks,
    warps and lanes, None for the usual one.
    """

    run: LabRun
    sizes: Mapping[str, int]
    prepared: PreparedCase | None
    seed: int | None = None


class Trials(ClosedAtEnd):
    """The runs of the program in one room. `draw` gives their sizes, data and orders."""

    def __init__(self, lab: LabSpec, draw: random.Random) -> None:
        from gridstride.programs.process.confined import ProgramRoom

        self.lab, self.draw = lab, draw
        self.room = ProgramRoom(chip=lab.chip)
        self._problem = problem_of(lab)

    def close(self) -> None:
        """Remove what was built."""
        self.room.close()

    def build(self, file: Path) -> None:
        """Compile the program; BuildFailed."""
        self.room.build(file)

    def drawn(self, run: LabRun) -> ProgramTrial:
        """With sizes and data of its own. Plain runs but the first one come in an order of their own, too."""
        sizes = {name: self.draw.randint(low, high) for name, (low, high) in run.sizes.items()}
        usual = run is self.lab.runs[0] or run.fails or run.idle or run.late or run.checks
        seed = None if usual else self.draw.randrange(_SEED) | 1  # odd ones have the lanes in reverse
        return replace(self._prepared(run, sizes), seed=seed)

    def _prepared(self, run: LabRun, sizes: Mapping[str, int]) -> ProgramTrial:
        from gridstride.judge.problem import Case
        from gridstride.judge.reference.prepared_cases import prepare

        if self._problem is None:
            return ProgramTrial(run, sizes, None)
        (prepared,) = prepare(self._problem, [Case(sizes, "normal", self.draw.randrange(_SEED), hidden=True)])
        return ProgramTrial(run, sizes, prepared)

    def outcome(
        self, trial: ProgramTrial, *, predict: bool = False, pictures: bool = False, tells_calls: bool = False
    ) -> Outcome:
        """The program is run."""
        from gridstride.programs.run import Settings

        self.room.clear()
        run, watched = trial.run, not predict and not trial.run.late
        seconds = min(self.lab.seconds, _IDLE_SECONDS) if run.idle else self.lab.seconds
        logs = self._only_kernels() and not (run.fails or run.idle or run.late)
        settings = Settings(sanitize=watched, seed=None if predict else trial.seed, predict=predict, pictures=pictures,
                            time_limit=seconds, fails=run.fails, tells_calls=tells_calls, idle=run.idle,
                            late=run.late and not predict, gpus=run.gpus, memory=run.memory,
                            copy_log=str(self.room.data / COPY_LOG) if logs else None)  # fmt: skip
        return self.room.run([Path(self.lab.file).stem, *self._arguments(trial)], settings)

    def modelled(self) -> tuple[ProgramTrial, Outcome]:
        """The first run with counts of kernels and modelled times."""
        first = self.drawn(self.lab.runs[0])
        return first, self.outcome(first, predict=True)

    def counted(self) -> dict[str, float]:
        """What the program does in the first run, with that run's sizes, by name."""
        trial, outcome = self.modelled()
        return {**of_program(outcome), **trial.sizes}

    def pictured(self) -> tuple[Outcome, str]:
        """The first run with its launches line by line; and how the program was called."""
        first = self.drawn(self.lab.runs[0])
        return self.outcome(first, predict=True, pictures=True), self.called(first)

    def _only_kernels(self) -> bool:
        """Whether kernels are to compute all of the results: it is so where a run has kernels that do nothing."""
        return any(run.idle for run in self.lab.runs)

    def results(self, trial: ProgramTrial) -> Results | None:
        """The files that the run was to write; None where it was to print only."""
        if trial.prepared is None or self._problem is None:
            return None
        share = max(run.may_be_right for run in self.lab.runs)
        return Results(self._problem, trial.prepared, self.room.data, share)

    def with_other_data(self, trial: ProgramTrial) -> Results:
        """The files of a run of the same sizes."""
        changed_trial = self._prepared(trial.run, trial.sizes)
        self.outcome(changed_trial)
        results = self.results(changed_trial)
        assert results is not None
        return results

    def _arguments(self, trial: ProgramTrial) -> list[str]:
        """The program's arguments; the files that they name hold the run's data."""
        values: dict[str, Any] = dict(trial.sizes)
        if trial.prepared is not None:
            for name, value in trial.prepared.inputs.items():
                if getattr(value, "ndim", 0):
                    (self.room.data / f"{name}.bin").write_bytes(value.tobytes())
                elif name not in values:
                    values[name] = repr(float(value))
            for name in (*trial.prepared.inputs, *trial.prepared.expected):
                values.setdefault(name, str(self.room.data / f"{name}.bin"))
        return [argument.format(**values) for argument in self.lab.arguments]

    def called(self, trial: ProgramTrial) -> str:
        """How the program was called, in words that fit a line: its files without their folder."""
        words = [Path(argument).name if argument.startswith("/") else argument for argument in self._arguments(trial)]
        gpus = f", with {trial.run.gpus} GPUs" if trial.run.gpus > 1 else ""
        memory = f", with {trial.run.memory:,} bytes of device memory" if trial.run.memory else ""
        return f"{' '.join([Path(self.lab.file).stem, *words])}{gpus}{memory}"
