"""What a lab's program does on the device, in pictures: its launches in the lab's first run, the heaviest first."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridstride.compiler.signature import signatures
from gridstride.course.figures.pictures import text
from gridstride.course.labs.program_trials import Trials
from gridstride.course.lesson import Day
from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.explain.launch import LaunchProfile, launch_profile
from gridstride.judge.header import LaunchShape
from gridstride.judge.report.launches_page import ProgramSource, render
from gridstride.judge.sandbox import checked_words, records, run_records
from gridstride.plain import plain
from gridstride.programs.calls.launch_pictures import MOST
from gridstride.programs.process.confined import Outcome
from gridstride.programs.program_errors import ProgramError
from gridstride.virtual.chips import chip
from gridstride.virtual.observe.figures import percent

_MOST_COUNTED, _MOST_SHARED = 1 << 31, 1 << 20
_HEAVY = 3  # lines that a terminal shows
_ARGUMENT = "argument "


class NothingToShow(ProgramError):
    """A run without launches that could be looked at; the message says why."""


def page(day: Day, file: Path) -> str:
    """The page of the program's launches; BuildFailed, NothingToShow."""
    launches, called = _observed(day, file)
    source = file.read_text(encoding="utf-8-sig", errors="replace")
    program = ProgramSource(day.lab.file, source, called, chip(day.lab.chip).properties.name)
    return render(program, launches, command=f"gridstride watch {day.number}")


def lines(day: Day, file: Path) -> Iterator[str]:
    """What a terminal shows of the heaviest launch; BuildFailed, NothingToShow."""
    launches, called = _observed(day, file)
    first, total = launches[0], sum(launch.us for launch in launches) or 1.0
    profile = first.profile
    yield f"Its heaviest kernel in {called}, counted on the virtual GPU ({chip(day.lab.chip).properties.name}):"
    yield (
        f"  {first.called}: {percent(first.us / total)} of the kernels' time, limited by {profile.limiter}, "
        f"{first.us / first.launches:.3g} µs a launch predicted"
    )
    yield f"  {profile.occupancy}"
    for line in sorted(profile.lines, key=lambda launch: -launch.share)[:_HEAVY]:
        sectors = f", {line.counters.sectors_per_request:.1f} sectors/req." if line.counters.global_requests else ""
        yield f"  {line.number:>5} | {plain(line.code.strip())[:70]}   {percent(line.share)} of time{sectors}"
    for access in profile.accesses[:1]:
        yield from (f"  {row}" for row in text(access).splitlines())


def _observed(day: Day, file: Path) -> tuple[list[LaunchProfile], str]:
    """The launches of a program in the lab's first run, and how it was called."""
    source = file.read_text(encoding="utf-8-sig", errors="replace")
    with Trials(day.lab, random.Random(0)) as trials:
        trials.build(file)
        outcome, called = trials.pictured()
    return launches_of(outcome, day.lab.chip, source, file.name), called


def launches_of(outcome: Outcome, chip_name: str, source: str, filename: str) -> list[LaunchProfile]:
    """What the program's process says of its launches, looked at first; NothingToShow."""
    try:
        launches = [_launch(launch, chip_name, source, filename) for launch in outcome.ended.launches[:MOST]]
    except checked_words.MalformedError as error:
        raise NothingToShow(f"what the program's process says of its launches is none: {error}") from error
    if launches:
        return sorted(launches, key=lambda launch: -launch.us)
    if outcome.stopped or outcome.ended.signal is not None:
        why = outcome.stopped or f"signal {outcome.ended.signal} ended it"
        raise NothingToShow(f"the program did not end by itself, so there are no pictures: {why}")
    raise NothingToShow("the program launched no kernel in the lab's first run, so there are no pictures")


@checked_words.strict
def _launch(words: Mapping[str, Any], chip_name: str, source: str, filename: str) -> LaunchProfile:
    grid, block, shared = words["shape"]
    shape = LaunchShape(_dim3(grid), _dim3(block), checked_words.integer(shared, 0, _MOST_SHARED))
    run = run_records.run_of(words["run"], chip_name=chip_name, shape=shape, source=source, findings=())
    called = signatures(source).get(run.kernel.partition("<")[0])
    names = [parameter.name for parameter in called.parameters] if called else []
    accesses = [_named(access, names) for access in records.accesses_of(words["accesses"])]
    us = float(words["us"])
    if not math.isfinite(us) or us < 0:
        raise checked_words.MalformedError("a time that is none")
    profile = launch_profile(run, source, filename, accesses, records.steps_of(words["way"]))
    return LaunchProfile(run.kernel, checked_words.integer(words["launches"], 1, _MOST_COUNTED), us, profile)


def _dim3(words: Sequence[Any]) -> tuple[int, int, int]:
    x, y, z = (checked_words.integer(word, 1, _MOST_COUNTED) for word in words)
    return x, y, z


def _named(access: WarpAccess, names: Sequence[str]) -> WarpAccess:
    """The access with its array called as the source calls it, where it says so."""
    number = access.array.removeprefix(_ARGUMENT)
    array_name = number.isdecimal() and int(number) < len(names) and names[int(number)]
    return replace(access, array=array_name) if array_name else access
