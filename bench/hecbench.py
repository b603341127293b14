"""HeCBench's programs, drawn by a seed: `python bench/hecbench.py --hecbench DIR [--drawn 50] [--seed N] [--limit S]`.

DIR is a copy of github.com/zjin-lcf/HeCBench, of which nothing is kept here. Drawn are folders `src/NAME-cuda` whose
Makefile has a plain `run:` line (one program, its arguments) and whose data files are there; not those that need MPI,
NCCL, NVSHMEM, another library of the vendor's or of others that no wheel of ours brings. Each is built in a copy of its
folder, unmodified, by `gridstride env -- make`, and run as `make run` does, with arguments cut to what a simulator can
do: a number that the program's usage line or its variable calls a repetition becomes 1 (`REPEATS`), and sizes are those
of bench/hecbench_arguments.py, which also has the few that stand in a source. Then it

    passed     ended with status 0, says PASS or that its own check holds, and says nothing of a failure; or what it
               prints or writes is what it must be (CHECKED_BY_HAND, OPENMP)
    ran        ended with status 0; it checks nothing, or does not say so
    failed     ended otherwise, or says that it failed
    not built  does not compile or link
    too long   was ended by the limit
    elsewhere  needs what no virtual GPU has

What each said is kept in DIR/.hecbench; finished ones in DIR/.hecbench.jsonl, so that a run that was ended goes on
where it was; --again forgets them, all or those of --only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from common import save  # noqa: E402
from hecbench_arguments import (  # noqa: E402
    ARGUMENTS,
    CHECKED_BY_HAND,
    CONSTANTS,
    ELSEWHERE,
    GPUS,
    MAKE,
    NO_DATA,
    OPENMP,
    THEIRS,
)

FAILURE = re.compile(
    r"\bFAIL(?:ED|URE)?\b|\b[Ff]ailed\b|\bmismatch|\bMismatch|\bincorrect\b|\bwrong\b|Error:|ERROR|(?i:\bnot correct)"
)
NO_FAILURE = re.compile(
    r"(?i)\b(?:0|no|zero) (?:failed|failures?|errors?|mismatch\w*)"
    r"|failed\D{0,3}0\b|mismatch\w*\s*[:=]\s*0\b|\berrors?: *0\b"
)
"""A line with one of FAILURE's words that speaks of none."""
SUCCESS = re.compile(
    r"\bPASS(?:ED)?\b|\b[Pp]assed\b|\bSUCCESS\b"
    r"|(?i:\bsuccess(?:ful(?:ly)?)?\b|verified|\bcorrect\b|\bpass\b|\bresults? (?:match|ok)|\bok\b)"
    r"|(?i:(?:\berrors?|mismatch\w*|failures?)\s*[:=]\s*0(?:\.0+)?(?:e[+-]?00)?\s*$)",
    re.MULTILINE,
)
REPEATS = re.compile(r"(?i)repe|iterat|iters?\b|n?times\b|runs?\b|loops?\b|passes|trials")
"""A placeholder of a usage line that says how often something is done again."""
LIBRARIES = {"m", "pthread", "rt", "dl", "cudart", "cuda", "cublas", "cusparse", "curand", "cufft", "stdc++", "gomp"}
"""What may be linked."""
OTHERS = re.compile(
    r"#\s*include\s*<((?:mpi|nccl|nvshmem|cudnn|cublasLt|cusolver\w*|cutensor|nvml|npp\w*|nvjpeg|gsl/|boost/|tbb/"
    r"|opencv2/|hdf5|netcdf|zlib|bzlib|png|jpeglib|gdal\w*|cutlass/|cute/|cudss)[^>]*)>"
)
"""Headers that are not here."""
WRITTEN = re.compile(r"(?i)out|result|denoise|save|\.tmp$")
"""Names of files that a program writes."""
SOURCES = {".cu", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cuh"}
_READ = re.compile(r"(\w+)\s*=\s*(?:\(\w+\)\s*)?(?:std::)?(?:ato[il]+|sto[uil]+|strto\w+)\s*\(\s*argv\[(\d+)\]")
_USAGE = re.compile(r'(?i)usage[^"\n]*?(?:%s|argv\[0\]|\./\w+|:)((?:[^;]|\n)*?);')


@dataclass(frozen=True)
class Program:
    """One of the collection: its folder and what `make run` would say."""

    name: str
    folder: Path

    @cached_property
    def recipe(self) -> list[str]:
        """The command of its Makefile's run: line, in words; empty where that is no plain one."""
        text = (self.folder / "Makefile").read_text(errors="replace")
        if not re.search(r"(?m)^run\s*:", text):
            return []
        said = subprocess.run(
            ["make", "-n", "-s", "run"], cwd=self.folder, capture_output=True, text=True, errors="replace"
        )
        lines = [line.strip() for line in said.stdout.replace("\\\n", " ").splitlines()]
        lines = [line for line in lines if re.match(r"\./\S+", line)]
        return lines[0].split() if len(lines) >= 1 and not re.search(r"[;&|<>`$]|mpirun", lines[0]) else []

    @cached_property
    def text(self) -> str:
        files = [each for each in sorted(self.folder.rglob("*")) if each.suffix in SOURCES and each.is_file()]
        return "\n".join(each.read_text(errors="replace") for each in files)

    @cached_property
    def refused(self) -> str | None:
        """Why it is not to be drawn."""
        if not self.recipe:
            return "no plain run: line"
        make = (self.folder / "Makefile").read_text(errors="replace")
        other = sorted(set(re.findall(r"(?<=\s)-l([\w+]+)", re.sub(r"#[^\n]*", "", make))) - LIBRARIES)
        if other:
            return f"links {', '.join(other)}"
        found = OTHERS.search(self.text)
        if found:
            return f"includes {found[1]}"
        if self.name in NO_DATA:
            return f"{NO_DATA[self.name]} is not there"
        files = [word for word in self.recipe[1:] if names_a_file(word) and not WRITTEN.search(word)]
        missing = [word for word in files if not (self.folder / word).exists()]
        return f"{missing[0]} is not there" if missing else None

    @cached_property
    def arguments(self) -> list[str]:
        """Those of the run: line, cut."""
        if self.name in ARGUMENTS:
            return ARGUMENTS[self.name].split()
        words = self.recipe[1:]
        usage = _USAGE.search(self.text)
        names = re.findall(r"<([^<>\n]+)>", usage[1]) if usage else []
        if len(names) != len(words):
            names = [""] * len(words)
        for name, place in _READ.findall(self.text):
            if int(place) <= len(words):
                names[int(place) - 1] += f" {name}"
        named = zip(names, words, strict=True)
        return ["1" if REPEATS.search(name) and word.isdigit() else word for name, word in named]


@dataclass(frozen=True)
class Outcome:
    """How one went; `reason` is empty where it passed."""

    program: str
    arguments: str
    verdict: str
    reason: str = ""
    seconds: float = 0.0
    build_seconds: float = 0.0


def names_a_file(word: str) -> bool:
    """Whether an argument looks like a file's name."""
    try:
        float(word)
    except ValueError:
        return not word.startswith("-") and bool(re.search(r"[A-Za-z].*\.|\.+/|\w/|\.[A-Za-z]", word))
    return False


def programs(root: Path) -> list[Program]:
    """All that can be drawn, by name."""
    folders = sorted((root / "src").glob("*-cuda"))
    every = [Program(each.name.removesuffix("-cuda"), each) for each in folders if (each / "Makefile").is_file()]
    return [each for each in every if each.refused is None]


def draw(root: Path, count: int, seed: int) -> tuple[list[Program], int]:
    """`count` of them, and of how many."""
    every = programs(root)
    return sorted(random.Random(seed).sample(every, count), key=lambda each: each.name), len(every)


def run(program: Program, root: Path, limit: float) -> Outcome:
    """Build it in a copy of its folder beside the others, and run it."""
    arguments = program.arguments
    said = " ".join(arguments)
    if program.name in ELSEWHERE:
        return Outcome(program.name, said, "elsewhere", ELSEWHERE[program.name])
    with tempfile.TemporaryDirectory(prefix="hecbench-") as place:
        folder = beside(program, root, Path(place))
        began = time.monotonic()
        command = [sys.executable, "-m", "gridstride", "env", "--", "make", *MAKE.get(program.name, "").split()]
        status, out, err = ended(command, folder, 900)
        built = round(time.monotonic() - began, 1)
        binary = folder / program.recipe[0]
        if status != 0 or not binary.is_file():
            return Outcome(program.name, said, "not built", first_error(err or out), 0.0, built)
        began = time.monotonic()
        several = GPUS.get(program.name)
        start = [sys.executable, "-m", "gridstride", "env", "--gpus", str(several), "--"] if several else []
        status, out, err = ended([*start, program.recipe[0], *arguments], folder, limit)
        taken = round(time.monotonic() - began, 1)
        differs = None
        if status == 0 and program.name in OPENMP:
            differs = differs_from_openmp(program, folder, arguments)
    heard = root / ".hecbench" / f"{program.name}.txt"
    heard.parent.mkdir(exist_ok=True)
    heard.write_text(f"{out}\n--- stderr, status {status}\n{err}")
    verdict, why = judged(program, status, out, err, limit)
    if verdict == "ran" and differs is not None:
        verdict, why = ("failed", differs) if differs else ("passed", "")
    return Outcome(program.name, said, verdict, clean(why, Path(place)), taken, built)


def judged(program: Program, status: int | None, out: str, err: str, limit: float) -> tuple[str, str]:
    """The verdict, and why."""
    if status is None:
        return "too long", f"had not ended after {limit:.0f} s"
    if program.name in THEIRS and (status or FAILURE.search(out)):
        return "failed", THEIRS[program.name]
    if status:
        return "failed", f"status {status}: {reason(out, err)}"
    lines = out.splitlines() + [line for line in err.splitlines() if not line.startswith("gridstride:")]
    bad = [line for line in lines if FAILURE.search(line) and not NO_FAILURE.search(line)]
    if bad:
        return "failed", bad[0].strip()[:200]
    if SUCCESS.search("\n".join(lines)):
        return "passed", ""
    if program.name in CHECKED_BY_HAND:
        pattern, what = CHECKED_BY_HAND[program.name]
        return ("passed", "") if re.search(pattern, out) else ("failed", f"does not say what it should: {what}")
    return "ran", "checks nothing; it said: " + last_line(out)


def beside(program: Program, root: Path, place: Path) -> Path:
    """A copy of its folder, among links to the others, whose headers and data it may use."""
    for top in root.iterdir():
        if top.name != "src" and not top.name.startswith("."):
            (place / top.name).symlink_to(top)
    source = place / "src"
    source.mkdir()
    for each in (root / "src").iterdir():
        if each != program.folder:
            (source / each.name).symlink_to(each)
    folder = Path(shutil.copytree(program.folder, source / program.folder.name))
    changed(program.name, folder)
    return folder


def changed(program: str, folder: Path) -> None:
    """Writes the sizes into a copy that stand in a source."""
    for name, said, instead in CONSTANTS.get(program, ()):
        text = (folder / name).read_text(errors="surrogateescape")
        if said not in text:
            raise SystemExit(f"{program}: {name} does not say {said!r}")
        (folder / name).write_text(text.replace(said, instead), errors="surrogateescape")


def ended(command: list[str], folder: Path, limit: float) -> tuple[int | None, str, str]:
    """How a command ended and what it said; its whole group is ended by the limit."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src")}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(4_000_000).decode(errors="replace"))
    return status, texts[0], texts[1]


def differs_from_openmp(program: Program, folder: Path, arguments: list[str]) -> str:
    """Where the files of the collection's OpenMP version, run on the host, have other numbers; empty: nowhere."""
    source, files, tolerance = OPENMP[program.name]
    other = folder.parent / "openmp"
    shutil.copytree(folder.parent / f"{program.name}-omp", other)
    changed(program.name, other)
    command = [sys.executable, "-m", "gridstride", "env", "--", "clang++", "-O2", source, "-o", "main"]
    status, _, err = ended(command, other, 300)
    if status == 0:
        status, _, err = ended(["./main", *arguments], other, 300)
    if status != 0:
        return f"the OpenMP version does not run: {last_line(err)}"
    for file in files:
        here, there = ((each / file).read_text().split() for each in (folder, other))
        if len(here) != len(there) or not all(close(*each, tolerance) for each in zip(here, there, strict=True)):
            return f"{file} has other numbers than the OpenMP version's"
    return ""


def close(here: str, there: str, tolerance: float) -> bool:
    """The same word, or numbers that differ in what is rounded."""
    try:
        return here == there or abs(float(here) - float(there)) <= tolerance * max(1.0, abs(float(there)))
    except ValueError:
        return False


def reason(out: str, err: str) -> str:
    """The line that says most of why it ended so: what the virtual GPU says, else an error of the program's own."""
    lines = [line for line in (err + "\n" + out).splitlines() if line.strip()]
    for pattern in (r"^gridstride: (?!CU|warning)", r"(?i)error|fail|not found|cannot"):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[0].strip()[:200]
    return lines[-1].strip()[:200] if lines else "it says nothing"


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:120] if lines else "nothing"


def first_error(text: str) -> str:
    """The compiler's first error, else what was said last."""
    found = re.search(r"(?m)^.*\berror\s*:.*$|^gridstride: .*$", text)
    return found[0].strip()[:300] if found else last_line(text)


def clean(text: str, place: Path) -> str:
    """Without the folder's name."""
    return re.sub(r"(?:/[\w.+-]+){2,}/", "", text.replace(f"{place}/", ""))


def main() -> None:
    """Run, print a line for each, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hecbench", type=Path, required=True)
    parser.add_argument("--drawn", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true", help="what is drawn and how it is run; runs nothing")
    given = parser.parse_args()
    root = given.hecbench.resolve()
    kept = root / ".hecbench.jsonl"
    drawn, among = draw(root, given.drawn, given.seed)
    if given.list:
        for each in drawn:
            print(f"{each.name}: {' '.join(each.recipe[1:])} -> {' '.join(each.arguments)}")
        return
    done = read(kept)
    if given.again:
        done = {name: each for name, each in done.items() if given.only and name not in given.only}
        kept.write_text("".join(json.dumps(asdict(each)) + "\n" for each in done.values()))
    for each in drawn:
        if given.only and each.name not in given.only:
            continue
        if each.name not in done:
            done[each.name] = run(each, root, given.limit)
            with kept.open("a") as file:
                file.write(json.dumps(asdict(done[each.name])) + "\n")
        outcome = done[each.name]
        times = f"{outcome.build_seconds:6.1f} s {outcome.seconds:6.1f} s"
        print(f"{outcome.verdict:10} {times}  {outcome.program} {outcome.arguments}  {outcome.reason}", flush=True)
    if all(each.name in done for each in drawn):
        record([done[each.name] for each in drawn], given.seed, among, given.limit)


def read(kept: Path) -> dict[str, Outcome]:
    """What the journal has."""
    lines = kept.read_text().splitlines() if kept.is_file() else []
    return {each["program"]: Outcome(**each) for each in map(json.loads, lines)}


def record(outcomes: list[Outcome], seed: int, among: int, limit: float) -> None:
    """The JSON of a whole run."""
    counts = Counter(each.verdict for each in outcomes)
    rows = [asdict(each) for each in outcomes]
    save(
        "hecbench",
        {"seed": seed, "drawn": len(rows), "among": among, "limit_s": limit, "counts": counts, "programs": rows},
    )
    print(dict(counts))


if __name__ == "__main__":
    main()
