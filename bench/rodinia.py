"""Rodinia's programs against their CPU versions: `python bench/rodinia.py --rodinia DIR [--only NAME …] [--limit S]`.

DIR is a copy of github.com/yuhc/gpu-rodinia, of which nothing is kept here. Each program of its cuda/ folder is built
in a copy of the collection, unmodified, from the files or by the Makefile that bench/rodinia_programs.py names, and run
on the virtual GPU with sizes for a simulator and data of bench/rodinia_data.py, as the collection's own are not in git.
The same data go to the version in openmp/, built for this machine's processor by the same compiler; where the
collection has none, the program's own check against the CPU counts, or an answer of NumPy's. Then it

    passed     has the CPU version's numbers, within the table's tolerance
    differs    ended with status 0 and has other numbers
    failed     ended otherwise
    not built  does not compile or link
    too long   was ended by the limit
    elsewhere  needs what neither a virtual GPU nor the collection's git has

A program of several executables passes where all of them do. What each said is kept in DIR/.rodinia, finished ones in
DIR/.rodinia.jsonl; --again forgets them, all or those of --only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from common import machine, save  # noqa: E402
from hecbench import clean, first_error, reason  # noqa: E402
from rodinia_data import Array  # noqa: E402
from rodinia_programs import Cpu, Inputs, OwnCheck, Program, Ran, SameProgram, programs  # noqa: E402

GRIDSTRIDE = [sys.executable, "-m", "gridstride"]
BUILD_LIMIT = 600.0
FOR_THE_PROCESSOR = ("-O2", "-fopenmp", "-w", "-Wno-implicit-int", "-Wno-implicit-function-declaration",
                     "-Wno-incompatible-pointer-types", "-Wno-int-conversion")  # fmt: skip
"""Flags of the CPU versions, whose C is as old."""


@dataclass(frozen=True)
class Outcome:
    """How one executable went. `difference`: the largest from the CPU's number, relative to numbers above 1."""

    program: str
    executable: str
    arguments: str
    verdict: str
    reason: str = ""
    difference: float | None = None
    numbers: int = 0
    seconds: float = 0.0
    build_seconds: float = 0.0


class Refused(Exception):
    """A version that was not built or did not end well: its verdict and why."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(why)
        self.verdict, self.why = verdict, why


def run(program: Program, root: Path, limit: float) -> Outcome:
    """Build it, run it, and compare."""
    if program.elsewhere:
        return Outcome(program.collected, program.name, program.arguments, "elsewhere", program.elsewhere)
    times = {"build": 0.0, "run": 0.0}
    verdict, why, difference, count = "passed", "", None, 0
    with tempfile.TemporaryDirectory(prefix="rodinia-") as place:
        try:
            gpu = on_gpu(program, root, Path(place), limit, times)
            difference, count = compared(program, gpu, root, Path(place), limit)
            if not difference <= program.tolerance:
                verdict, why = "differs", f"from the CPU's by up to {difference:.2g} (of {count} numbers)"
        except Refused as refusal:
            verdict, why = refusal.verdict, clean(refusal.why, Path(place))
    if verdict != "passed" and program.theirs:
        why = f"theirs: {program.theirs} ({why})"
    return Outcome(program.collected, program.name, program.arguments, verdict, why, difference, count,
                   round(times["run"], 1), round(times["build"], 1))  # fmt: skip


def on_gpu(program: Program, root: Path, place: Path, limit: float, times: dict[str, float]) -> Ran:
    """The CUDA program's answer, on the virtual GPU."""
    folder = copied("cuda", program.folder, root, place / "gpu", program.inputs())
    for name, text in program.headers.items():
        written(place / "headers" / name, text)
    began = time.monotonic()
    if program.make:
        command = [*GRIDSTRIDE, "env", "--cuda11", "--", "make", "CUDA_DIR=$(CUDA_HOME)", *program.make]
    else:
        more = ["-I", str(place / "headers")] if program.headers else []
        command = [*GRIDSTRIDE, "build", "--cuda11", *more, *program.options, *program.files, "-o", program.binary]
    built(command, folder, program.binary)
    times["build"] = time.monotonic() - began
    began = time.monotonic()
    try:
        return ended(program, program.binary, program.arguments, folder, limit, root)
    finally:
        times["run"] = time.monotonic() - began


def compared(program: Program, gpu: Ran, root: Path, place: Path, limit: float) -> tuple[float, int]:
    """The largest difference from the CPU's numbers, and how many there are."""
    against = program.against
    if isinstance(against, OwnCheck):
        if not re.search(against.says, gpu.out):
            raise Refused("differs", f"its own check against the CPU does not say {against.says!r}")
        return 0.0, 0
    assert program.reads is not None
    here = program.reads(gpu)
    if isinstance(against, Cpu):
        ran = on_cpu(program, against, root, place, limit)
        there = (against.reads or program.reads)(ran)
    elif isinstance(against, SameProgram):
        there = program.reads(ended(program, program.binary, against.arguments, gpu.folder, limit, root, "-cpu"))
    else:
        there = against()
    return difference(here, there), len(there)


def on_cpu(program: Program, cpu: Cpu, root: Path, place: Path, limit: float) -> Ran:
    """The answer of the version in openmp/."""
    folder = copied("openmp", cpu.folder, root, place / "cpu", (cpu.inputs or program.inputs)())
    for name, said, instead in cpu.edits:
        text = (folder / name).read_text(errors="surrogateescape")
        if said not in text:
            raise SystemExit(f"{program.name}: {name} of the OpenMP version does not say {said!r}")
        (folder / name).write_text(text.replace(said, instead), errors="surrogateescape")
    compiler = "g++" if any(each.endswith(".cpp") for each in cpu.files) else "gcc"
    words = ["make", *cpu.make] if cpu.make else [compiler, *FOR_THE_PROCESSOR, *cpu.options, *cpu.files,
                                                  "-o", cpu.binary, "-lm"]  # fmt: skip
    try:
        built([*GRIDSTRIDE, "env", "--", *words], folder, cpu.binary)
        return ended(program, cpu.binary, cpu.arguments, folder, limit, root, "-cpu")
    except Refused as refusal:
        raise Refused("failed", f"the CPU version: {refusal.verdict}: {refusal.why}") from refusal


def copied(version: str, folder: str, root: Path, place: Path, inputs: Inputs) -> Path:
    """A copy of a program's folder among links to the others, with its inputs; where it is run."""
    top = folder.split("/")[0]
    (place / version).mkdir(parents=True)
    (place / "common").symlink_to(root / "common")
    for each in (root / version).iterdir():
        if each.name != top:
            (place / version / each.name).symlink_to(each)
    stale = shutil.ignore_patterns("*.o", "*.a", "result.txt", "output.out")
    shutil.copytree(root / version / top, place / version / top, ignore=stale)
    for name, text in inputs.items():
        written(place / version / folder / name, text)
    return place / version / folder


def written(path: Path, text: bytes) -> None:
    path = Path(os.path.normpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def built(command: Sequence[str], folder: Path, binary: str) -> None:
    status, out, err = heard(command, folder, BUILD_LIMIT)
    if status != 0 or not (folder / binary).is_file():
        raise Refused("not built", first_error(err or out))


def ended(
    program: Program, binary: str, arguments: str, folder: Path, limit: float, root: Path, version: str = ""
) -> Ran:
    """What a version says and writes; Refused where it did not end with status 0 or the virtual GPU found a fault."""
    clock = fixed_clock(folder) if program.fixed_clock else {}
    status, out, err = heard([f"./{binary}", *arguments.split()], folder, limit, clock)
    log = root / ".rodinia" / f"{program.name}{version}.txt"
    log.parent.mkdir(exist_ok=True)
    log.write_text(f"{out}\n--- stderr, status {status}\n{err}")
    if status is None:
        raise Refused("too long", f"had not ended after {limit:.0f} s")
    if status:
        raise Refused("failed", f"status {status}: {reason(out, err)}")
    return Ran(folder, out, err)


def fixed_clock(folder: Path) -> dict[str, str]:
    """The setting of a process for which time() stands still."""
    library = folder / "fixed_clock.so"
    built([*GRIDSTRIDE, "env", "--", "gcc", "-shared", "-fPIC", str(HERE / "parts" / "fixed_clock.c"), "-o",
           str(library)], folder, library.name)  # fmt: skip
    return {"LD_PRELOAD": str(library)}


def heard(
    command: Sequence[str], folder: Path, limit: float, more: dict[str, str] | None = None
) -> tuple[int | None, str, str]:
    """Status and words of a command, whose whole group is ended by the limit."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src")} | (more or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                   env=environment, start_new_session=True)  # fmt: skip
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(8_000_000).decode(errors="replace"))
    return status, texts[0], texts[1]


def difference(here: Array, there: Array) -> float:
    """The largest, relative to numbers above 1; infinite where there are other, or no, numbers."""
    if len(here) != len(there) or not len(there) or not np.isfinite(there).all() or not np.isfinite(here).all():
        return float("inf")
    return float(np.max(np.abs(here - there) / np.maximum(1, np.abs(there))))


def main() -> None:
    """Run, print a line for each, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rodinia", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    started, root = machine(), given.rodinia.resolve()
    kept = root / ".rodinia.jsonl"
    done = {each["executable"]: Outcome(**each) for each in map(json.loads, read_lines(kept))}
    if given.again:
        done = {name: each for name, each in done.items() if given.only and name not in given.only}
        kept.write_text("".join(json.dumps(asdict(each)) + "\n" for each in done.values()))
    every = list(programs())
    for program in every:
        if given.only and program.name not in given.only:
            continue
        if program.name not in done:
            done[program.name] = run(program, root, given.limit)
            with kept.open("a") as journal:
                journal.write(json.dumps(asdict(done[program.name])) + "\n")
        outcome = done[program.name]
        times = f"{outcome.build_seconds:6.1f} s {outcome.seconds:6.1f} s"
        off = "" if outcome.difference is None else f"{outcome.difference:.1e}"
        print(f"{outcome.verdict:10} {times}  {outcome.executable:22} {off:8} {outcome.reason}", flush=True)
    if all(program.name in done for program in every):
        record([done[program.name] for program in every], given.limit, started)


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() else []


def record(outcomes: Sequence[Outcome], limit: float, started: dict[str, object]) -> None:
    """The JSON of a whole run."""
    names = sorted({each.program for each in outcomes})
    right = [name for name in names if all(each.verdict == "passed" for each in outcomes if each.program == name)]
    counts = Counter(each.verdict for each in outcomes)
    print(f"{len(right)} of {len(names)} programs; executables: {dict(counts)}")
    save(
        "rodinia",
        {"limit_s": limit, "programs": len(names), "passed": len(right), "executables": counts,
         "rows": [asdict(each) for each in outcomes]},
        started=started,
    )  # fmt: skip


if __name__ == "__main__":
    main()
