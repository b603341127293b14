"""Verdicts on plausible kernels: wrong ones must be rejected for their fault, right ones accepted, whatever the seed.

    python bench/plausible.py [--seeds N] [--jobs N] [--collection known|unseen] [--device physical] [--only TEXT]…
                              [--journal FILE]

The kernels lie in tests/judge/plausible: written as learners, tired experts and language models write them, none of
them made from a rung. Those in `unseen` were written by somebody who had not seen the judge, and their first result is
the figure that counts. Each is judged once for every seed, with other hidden sizes, data, addresses and orders. On a
physical GPU only the right ones run, on the same cases, and untimed. With a journal every verdict is kept as it comes,
and what stands in it already is not judged again: the whole takes hours on two cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported: a verdict keeps one processor busy

from common import Row, machine, publish

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "judge")]

from plausible.collection import PlausibleKernel, right_kernels, wrong_kernels  # noqa: E402

from gridstride.virtual.machine.workers import cores  # noqa: E402

if TYPE_CHECKING:
    from gridstride.judge.header import KernelFile
    from gridstride.judge.ladder import Ladder
    from gridstride.judge.verdict import Finding

_AT_ONCE = 6  # kernels of a problem that a process judges
_WORKERS = 2  # threads that a launch has in `gridstride check`
TIME_LIMIT = 20.0  # seconds for one launch of a wrong kernel that never ends


@dataclass(frozen=True, slots=True)
class Outcome:
    """One verdict: kinds of what was found, how it counts, and the processor time that it took."""

    name: str
    seed: int
    wrong: bool
    fault: str
    kinds: tuple[str, ...]
    message: str
    outcome: str
    seconds: float


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seeds", type=int, default=8)
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--collection", choices=("known", "unseen"), default="known")
    words.add_argument("--device", choices=("virtual", "physical"), default="virtual")
    words.add_argument("--only", action="append", default=[], help="kernels whose problem/name contains this")
    words.add_argument("--journal", type=Path, help="a file of JSON lines, one for each verdict")
    asked = words.parse_args()
    started = machine()
    found = sorted(judged(asked), key=lambda each: (not each.wrong, each.name, each.seed))
    where = "" if asked.device == "virtual" else "_h200"
    name = f"plausible_{asked.collection}{where}"
    publish(name, [*summary(found, asked.seeds), *slow(found)], started)


def judged(asked: argparse.Namespace) -> Iterator[Outcome]:
    """Every verdict, a few of a problem and a seed in a process of its own; those with the wrong outcome are shown."""
    wrong = wrong_kernels(asked.collection) if asked.device == "virtual" else ()
    kernels = [k for k in (*wrong, *right_kernels(asked.collection)) if not asked.only or _named(k, asked.only)]
    kept = journal(asked.journal)
    yield from kept.values()
    workers = max(1, min(_WORKERS, cores() // asked.jobs))
    tasks = [
        (problem, list(some), seed, asked.device, workers)
        for seed in range(asked.seeds)
        for problem in sorted({k.problem for k in kernels})
        for some in batched(
            [k for k in kernels if k.problem == problem and (_name(k), bool(k.kinds), seed) not in kept]
        )
    ]
    with multiprocessing.get_context("spawn").Pool(asked.jobs, maxtasksperchild=1) as pool:
        for number, made in enumerate(pool.imap_unordered(_verdicts, tasks), start=1):
            for each in made:
                if each.outcome not in ("rejected", "accepted"):
                    said = f"{', '.join(each.kinds)}: {each.message}"
                    print(f"{each.outcome:9} {each.name}, seed {each.seed} [{each.fault}] {said}", flush=True)
                yield each
            if asked.journal:
                with asked.journal.open("a") as file:
                    file.writelines(f"{json.dumps(asdict(each))}\n" for each in made)
            print(f"\r{number}/{len(tasks)} {made[0].name.partition('/')[0]} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def batched(kernels: list[PlausibleKernel]) -> Iterator[list[PlausibleKernel]]:
    """A few at a time: what a run that is ended had begun is lost, and a long problem at its end keeps one process."""
    for start in range(0, len(kernels), _AT_ONCE):
        yield kernels[start : start + _AT_ONCE]


def journal(path: Path | None) -> dict[tuple[str, bool, int], Outcome]:
    """The verdicts that a file holds, by kernel, side and seed."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    known = [Outcome(**{**(each := json.loads(line)), "kinds": tuple(each["kinds"])}) for line in lines]
    return {(each.name, each.wrong, each.seed): each for each in known}


def _verdicts(task: tuple[str, list[PlausibleKernel], int, str, int]) -> list[Outcome]:
    return verdicts(*task)


def _name(kernel: PlausibleKernel) -> str:
    return f"{kernel.problem}/{kernel.path.name}"


def _named(kernel: PlausibleKernel, parts: list[str]) -> bool:
    return any(part in f"{kernel.problem}/{kernel.path.stem}" for part in parts)


def verdicts(problem: str, kernels: list[PlausibleKernel], seed: int, device: str, workers: int) -> list[Outcome]:
    """The judge on each, with the same cases, on a virtual GPU of so many threads. Python is run in the sandbox, CUDA
    C++ without, which is quicker.
    """
    from gridstride.judge.find import find
    from gridstride.judge.ladder import Ladder
    from gridstride.judge.submission import submission
    from gridstride.judge.verdict import Finding
    from gridstride.virtual.gpu import VirtualGPU

    folder, gpu = find(problem), VirtualGPU("h200", time_limit=TIME_LIMIT, workers=workers)
    plain, boxed = (Ladder(folder, device=gpu, seed=seed, sandbox=each) for each in (False, True))
    made = []
    try:
        for kernel in kernels:
            began = time.process_time()
            ladder = boxed if kernel.path.suffix == ".py" else plain
            try:
                file = submission(kernel.path)
                findings = ladder.judge(file).findings if device == "virtual" else on_hardware(ladder, file)
            except Exception as error:  # the judge's own mistake: it is counted, and the other kernels are judged
                findings = (Finding("judge_failed", f"{type(error).__name__}: {error}"),)
            kinds = tuple(dict.fromkeys(f.kind for f in findings))
            message = findings[0].message[:300] if kinds else ""
            took = time.process_time() - began
            outcome = _outcome(kernel, kinds)
            made.append(Outcome(_name(kernel), seed, bool(kernel.kinds), kernel.fault, kinds, message, outcome, took))
    finally:
        boxed.close()
    return made


def on_hardware(ladder: Ladder, file: KernelFile) -> tuple[Finding, ...]:
    """What the judge's cases show on the physical GPU, without timing."""
    from gridstride.device.choice import device as choose
    from gridstride.judge.execution.runnable import RefusedError, build
    from gridstride.judge.verify import verify

    gpu = choose("physical")
    try:
        if file.filename.endswith(".py"):
            ladder.build(file)
            assert ladder.sandbox is not None, "a ladder has one once it has built a Python kernel"
            runnable = ladder.sandbox.on(gpu, file)
        else:
            runnable = build(ladder.problem, file, gpu)
        return verify(ladder.problem, runnable, ladder.cases_of(runnable)).findings
    except RefusedError as refused:
        return (refused.finding,)


def _outcome(kernel: PlausibleKernel, kinds: tuple[str, ...]) -> str:
    if not kernel.kinds:
        return "REFUSED" if kinds else "accepted"
    if not kinds:
        return "PASSED"
    return "rejected" if set(kinds) & set(kernel.kinds) else "OTHER"


def summary(found: list[Outcome], seeds: int) -> Iterator[Row]:
    """Of each side, how many had the right outcome in every run."""
    for wrong, bad in ((True, ("PASSED", "OTHER")), (False, ("REFUSED",))):
        names = {each.name for each in found if each.wrong is wrong}
        if not names:
            continue
        failed = Counter(each.name for each in found if each.wrong is wrong and each.outcome in bad)
        passed = {each.name for each in found if each.wrong is wrong and each.outcome == "PASSED"}
        side = "wrong kernels rejected for their fault" if wrong else "right kernels accepted"
        detail = {name: [e.outcome for e in found if e.name == name and e.wrong is wrong] for name in sorted(failed)}
        more = f", {len(passed)} passed in one or more" if wrong else ""
        yield Row(
            f"{side} in {seeds} of {seeds} runs",
            f"{len(names) - len(failed)} of {len(names)}{more}",
            target="all",
            met=not failed,
            detail=detail,
        )


def slow(found: list[Outcome]) -> Iterator[Row]:
    """The verdicts that take longest, compiling with an empty cache included the first time."""
    longest = sorted(found, key=lambda each: -each.seconds)[:5]
    yield Row("longest verdicts", "; ".join(f"{each.name} {each.seconds:.1f} s" for each in longest))


if __name__ == "__main__":
    main()
