"""Runs of programs that lessons show and count: worked ones, and the lab's own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.course.lesson import Day, ProgramRun

if TYPE_CHECKING:
    from gridstride.programs.process.confined import Outcome

_PATIENCE = 60.0  # seconds for a worked program, which takes two on a machine that does nothing else


def observe(run: ProgramRun) -> Outcome:
    """Run a worked program with counts and modelled times; ValueError where it does not compile or end."""
    from gridstride.programs.process.confined import ProgramRoom
    from gridstride.programs.program_errors import BuildFailed
    from gridstride.programs.run import Settings

    settings = Settings(
        run.chip, seed=run.seed, predict=True, timeline=True, time_limit=_PATIENCE, fails=run.fails,
        gpus=run.gpus, memory=run.memory,
    )  # fmt: skip
    with ProgramRoom(chip=run.chip) as room:
        try:
            room.build(run.program)
        except BuildFailed as failed:
            raise ValueError(f"{failed}\n{failed.output}") from failed
        outcome = room.run([run.program.stem, *run.arguments], settings)
    if outcome.stopped or outcome.ended.signal is not None:
        raise ValueError(f"{run.program}: {outcome.stopped or f'signal {outcome.ended.signal}'}")
    return outcome


def observe_lab(day: Day, program: Path) -> Mapping[str, float]:
    """A program for the lab, which passes: its counts in the lab's first run, with the sizes of that run."""
    from gridstride.course.labs.program_trials import Trials

    with Trials(day.lab, random.Random(0)) as trials:
        trials.build(program)
        return trials.counted()


def timeline(outcome: Outcome) -> str:
    """When its copies and kernels would run on the chip, without the table of all of them."""
    from gridstride.programs.timeline.picture import drawn

    return "".join(f"{line}\n" for line in drawn(outcome.ended.timeline))


def shown(outcome: Outcome, lines: int) -> str:
    """What a terminal shows of a run: its first lines, stderr below, and the exit status where it is not 0."""
    printed = outcome.stdout.splitlines()
    more = len(printed) - lines
    lines_shown = [*printed[:lines], *([f"… and {more} more {'line' if more == 1 else 'lines'}"] if more > 0 else [])]
    lines_shown += outcome.stderr.splitlines()
    lines_shown += [f"(exit status {outcome.ended.status})"] if outcome.ended.status else []
    return "".join(f"{line}\n" for line in lines_shown)
