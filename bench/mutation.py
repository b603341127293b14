"""How many mistakes the judge sees: every rung of every ladder with one small mistake in it, judged.

    python bench/mutation.py [PROBLEM[/RUNG] …] [--each N] [--workers N] [--notes FILE] [--seconds S]

Of each rung N mutants (40 unless told, 0 for all) are drawn. What became of each is noted in FILE at once, if one is
given, and not worked out again by a later run with the same file: all of them take an hour of processor time. After S
seconds no other one is begun; how many are left is said, and a later run with the same file goes on from there.

A mutant whose PTX is the rung's own is the rung. The others run first on the plain build, which compiles in half the
time or less: the judge gives the same data of the same cases to the same kernel and holds it to the same bounds, so
what is wrong there is rejected. What is not goes to the judge itself, sanitizer and all, and so does what never ends.

A mutant that compiles and passes is run again on many more cases next to the rung that it was made from: where its
results on whole numbers or anything that the sanitizer finds differ, the judge has missed it; where nothing does, it
is taken for equivalent. Both are listed, to be looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from common import machine, save

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import gridstride as gs
from gridstride.judge.cases.case_list import drawn_cases
from gridstride.judge.cases.data import generate
from gridstride.judge.execution.buffers import Buffers, Placement
from gridstride.judge.execution.runnable import RefusedError, Runnable, build
from gridstride.judge.find import Folder, find, problem_names
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder
from gridstride.judge.problem import Case
from gridstride.judge.proof.mutants import Mutant, compilable, mutants
from gridstride.judge.verify import verify
from gridstride.virtual.machine import engine

SEED = 20261121
MORE_CASES = 40
AT_A_TIME = 16
TIME_LIMIT = 1.5
SAME = "the same PTX"
UNBUILDABLE = ("compile_error", "launch", "unsupported")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: "no kernel", "rejected", "missed", "equivalent" or "not judged"; `found` says what was
    found.
    """

    problem: str
    rung: str
    kind: str
    mutant: str
    outcome: str
    found: str


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("problems", nargs="*", default=problem_names())
    words.add_argument("--each", type=int, default=40, metavar="N", help="mutants of each rung, 0 for all")
    words.add_argument("--workers", type=int, default=2, metavar="N")
    words.add_argument("--notes", type=Path, metavar="FILE")
    words.add_argument("--seconds", type=float, default=float("inf"), metavar="S")
    asked = words.parse_args()
    started = machine()
    until = time.time() + asked.seconds
    parts = [Part(name, file.name, asked.each, asked.notes, start, until)
             for name, file in asked_for(asked.problems)
             for start in range(0, len(chosen(name, file, asked.each)), AT_A_TIME)]  # fmt: skip
    parts.sort(key=lambda part: (part.problem == "matmul", part.rung))  # what takes longest comes last
    found: list[Outcome] = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for part, outcomes in zip(parts, pool.map(judge_part, parts), strict=True):
            found += outcomes
            tally = dict(Counter(o.outcome for o in outcomes))
            print(f"{part.problem}/{part.rung} from {part.start}: {tally}", file=sys.stderr, flush=True)
    publish(found, asked.each, started)


def asked_for(words: Sequence[str]) -> Iterator[tuple[str, KernelFile]]:
    """The rungs of `matmul`, or the one of `matmul/08_double_buffer`."""
    for word in words:
        problem, _, rung = word.partition("/")
        yield from ((problem, file) for file in find(problem).rungs() if rung in ("", file.name))


@dataclass(frozen=True, slots=True)
class Part:
    """Some mutants of one rung: as many as are judged at a time, from number `start` on."""

    problem: str
    rung: str
    each: int
    notes: Path | None
    start: int
    until: float  # seconds since 1970, after which no mutant is begun


def publish(found: list[Outcome], each: int, started: dict[str, Any]) -> None:
    """The figure, by kind of mistake, and the mutants to be looked at."""
    live = [o for o in found if o.outcome in ("rejected", "missed")]
    rejected = sum(o.outcome == "rejected" for o in live)
    kinds = sorted({o.kind for o in found})
    rows = {k: dict(Counter(o.outcome for o in found if o.kind == k)) for k in kinds}
    share = rejected / max(1, len(live))
    left = dict(Counter(f"{o.problem}/{o.rung}" for o in found if o.outcome == "not judged"))
    print(f"{len(found)} mutants, {sum(left.values())} of them not judged")
    print(f"{len(live)} wrong, {rejected} of them rejected: {100 * share:.2f} %")
    for kind, row in rows.items():
        print(f"  {kind:22} {row}")
    for outcome in ("missed", "equivalent"):
        for o in found:
            if o.outcome == outcome:
                print(f"  {outcome}: {o.problem}/{o.rung} {o.mutant} ({o.found})")
    looked_at = [asdict(o) for o in found if o.outcome in ("missed", "equivalent")]
    findings = dict(Counter(o.found for o in found if o.outcome == "rejected"))
    figure = {"mutants": len(found), "not_judged": left, "wrong": len(live), "rejected": rejected, "share": share}
    drawn = {"each": each, "seed": SEED, "kinds": rows, "findings": findings, "survivors": looked_at}
    save("mutation", {**figure, **drawn}, started=started)


def chosen(problem: str, file: KernelFile, each: int) -> list[Mutant]:
    """The mutants of a rung, or some of them, always the same."""
    made = list(mutants(file.source))
    if each and len(made) > each:
        return random.Random(f"{problem} {file.name} {SEED}").sample(made, each)
    return made


def judge_part(part: Part) -> list[Outcome]:
    """The outcomes of some of a rung's mutants."""
    ladder, notes = ladder_of(part.problem), part.notes
    file = next(f for f in ladder.files if f.name == part.rung)
    known = noted(notes)
    found = []
    for mutant in chosen(part.problem, file, part.each)[part.start : part.start + AT_A_TIME]:
        key = hashlib.sha256(mutant.source.encode()).hexdigest()
        if key not in known and time.time() > part.until:
            found.append(Outcome(part.problem, part.rung, mutant.kind, str(mutant), "not judged", ""))
            continue
        found.append(known.get(key) or outcome(ladder, file, mutant))
        if notes is not None and key not in known:
            with notes.open("a", encoding="utf-8") as file_of_notes:
                file_of_notes.write(json.dumps({"source": key, **asdict(found[-1])}) + "\n")
    return found


def noted(notes: Path | None) -> dict[str, Outcome]:
    """What earlier runs wrote down, by the mutant's source."""
    if notes is None or not notes.exists():
        return {}
    rows = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    return {row.pop("source"): Outcome(**row) for row in rows}


@cache
def ladder_of(problem: str) -> Ladder:
    return Ladder(find(problem), device=gs.VirtualGPU(workers=1, time_limit=TIME_LIMIT), seed=SEED)


def outcome(ladder: Ladder, file: KernelFile, mutant: Mutant) -> Outcome:
    changed = replace(file, source=compilable(mutant))
    what, found = became(ladder, file, changed)
    return Outcome(ladder.problem.name, file.name, mutant.kind, str(mutant), what, found)


def became(ladder: Ladder, file: KernelFile, changed: KernelFile) -> tuple[str, str]:
    """What became of a mutant, and what was found."""
    try:
        right, other = (build(ladder.problem, each, ladder.device) for each in (file, changed))
    except RefusedError as refused:
        return "no kernel", refused.finding.kind
    if instructions(right) == instructions(other):
        return "equivalent", SAME
    kinds = plain_findings(ladder, other) or sorted({f.kind for f in ladder.judge(changed).findings})
    if kinds:
        return "no kernel" if set(kinds) <= set(UNBUILDABLE) else "rejected", ", ".join(kinds)
    differing = next(differences(ladder.folder, ladder, file, changed), None)
    return ("missed", differing) if differing else ("equivalent", "nothing")


def instructions(runnable: Runnable) -> list[str]:
    """The PTX of a kernel, without what it says about lines of the source."""
    bound: Any = runnable.kernel.bound().kernel
    text = "\n".join(piece.ptx for piece in bound.module.pieces).partition(".section")[0]
    return [line for line in map(str.strip, text.splitlines()) if not line.startswith((".loc", ".file", "//"))]


def plain_findings(ladder: Ladder, runnable: Runnable) -> list[str]:
    """The kinds of what is wrong without counting and sanitizer, on the judge's own cases; none where it never ends."""
    plain = Plain(runnable.kernel, runnable.launch, runnable.device)
    with patch.object(engine, "compile_object", partial(engine.compile_object, effort="quick")):
        kinds = sorted({f.kind for f in verify(ladder.problem, plain, ladder.cases()).findings})
    return [] if "timeout" in kinds else kinds


@dataclass(frozen=True, slots=True)
class Plain(Runnable):
    """A kernel that is run on the plain build, where the judge would observe it; nobody is looked for to blame."""

    def observe(self, case: Case, arguments: Sequence[Any], order: object = None) -> None:
        self.run(case, arguments)

    def blame(self, *_: Any) -> None:
        return None


def differences(folder: Folder, ladder: Ladder, file: KernelFile, changed: KernelFile) -> Iterator[str]:
    """What a mutant that passed does differently in many more cases, in words."""
    problem, device = folder.problem, ladder.device
    right, other = (build(problem, each, device) for each in (file, changed))
    for case in drawn_cases(problem, seed=SEED + 1, count=MORE_CASES):
        whole = replace(case, data="whole") if "whole" not in problem.without else case
        try:
            wanted, given = (results(ladder, each, whole) for each in (right, other))
        except gs.KernelFault as fault:
            yield f"{fault.kind} at {whole}"
            continue
        if any(not np.array_equal(wanted[n], given[n], equal_nan=wanted[n].dtype.kind == "f") for n in wanted):
            yield f"other results at {whole}"


def results(ladder: Ladder, runnable: Runnable, case: Case) -> dict[str, np.ndarray]:
    """A kernel's outputs for a case; KernelFault for what the sanitizer finds."""
    inputs = generate(ladder.problem, case)
    buffers = Buffers(runnable.device, ladder.problem, case.sizes, inputs, Placement(case.offsets))
    buffers.fill(0)
    run = runnable.observe(case, buffers.arguments)
    if run is not None and run.findings:
        raise gs.KernelFault(run.findings)
    return buffers.results()


if __name__ == "__main__":
    main()
