"""compute-sanitizer's memcheck on a physical GPU, at the size that is timed, where it is installed.

The virtual GPU has run the kernel before that, on small sizes and with every gate of its sanitizer: of 25 faulty
kernels it finds all, compute-sanitizer's tools 13 (bench/sanitizer.py). What it has not seen are accesses that leave an
array only where the arrays are large. A process of its own launches the kernel once, on arrays without guard bands.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridstride.judge.verdict import Finding

NAME = "compute-sanitizer"
_TIME_LIMIT = 120.0  # seconds: each access is checked, which makes a kernel some fifty times slower
_MOST = 20  # faults that are told
_PADDING = 4096  # bytes after each allocation that are nobody's: else the next one begins there
_PLACES = ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
_FAULT = re.compile(r"Invalid __(\w+)__ (\w+) of size (\d+) bytes")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_LINE = re.compile(r"\.cu:(\d+)")
_DONE = "ERROR SUMMARY: "


@dataclass(frozen=True, slots=True)
class MemcheckResult:
    """What memcheck found; `problem` says in a sentence why it could not look, and then nothing else is there."""

    findings: tuple[Finding, ...] = ()
    problem: str = ""


def program() -> str | None:
    """The compute-sanitizer on this machine; None where there is none."""
    return shutil.which(NAME) or next((path for path in _PLACES if os.access(path, os.X_OK)), None)


def memcheck(kernel: str, problem: str, seed: int) -> MemcheckResult:
    """Run the kernel file once at the timed size of the problem (a folder) under memcheck; never raises."""
    tool = program()
    if tool is None:
        return MemcheckResult(problem=f"{NAME} is not installed here")
    runner = [sys.executable, "-m", "gridstride.judge.timing.memcheck_runner", kernel, problem, str(seed)]
    options = ["--tool", "memcheck", "--report-api-errors", "no", "--print-limit", str(_MOST)]
    options += ["--padding", str(_PADDING)]
    try:
        done = subprocess.run(
            [tool, *options, *runner], capture_output=True, text=True, timeout=_TIME_LIMIT, errors="replace",
            env={**os.environ, "GRIDSTRIDE_DEVICE": "physical"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return MemcheckResult(problem=f"{NAME} had not ended after {_TIME_LIMIT:.0f} s")
    except OSError as error:
        return MemcheckResult(problem=f"{NAME} cannot be run: {error.strerror}")
    return parse(done.stdout + done.stderr)


def parse(output: str) -> MemcheckResult:
    """From what memcheck printed; those of one kind on one line are one."""
    lines = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    findings = tuple({(f.kind, f.line, f.message.partition(" by ")[0]): f for f in _faults(lines)}.values())
    if findings:
        return MemcheckResult(findings)
    summary = next((line for line in lines if line.startswith(_DONE)), "")
    if not summary.startswith(f"{_DONE}0 errors"):
        words = [line for line in (*lines, *output.splitlines()) if line.strip() and not line.startswith("COMPUTE-SAN")]
        return MemcheckResult(problem=f"{NAME} could not look: {words[0].strip() if words else 'it said nothing'}")
    return MemcheckResult()


def _faults(lines: Sequence[str]) -> Iterator[Finding]:
    starts = [number for number, line in enumerate(lines) if _FAULT.match(line)]
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        yield _fault("\n".join(lines[start : min(end, start + 12)]))


def _fault(text: str) -> Finding:
    match, thread, line = _FAULT.match(text), _THREAD.search(text), _LINE.search(text)
    assert match is not None
    kind = "misaligned" if "is misaligned" in text else "out_of_bounds"
    where = {"misaligned": "at an address that is no multiple of it", "out_of_bounds": "outside of all arrays"}[kind]
    message = f"{match[2]} of {match[3]} bytes of {match[1]} memory {where}, at the timed size ({NAME})"
    location = None
    if thread:
        numbers = [int(group) for group in thread.groups()]
        location = {"block": (*numbers[3:],), "thread": (*numbers[:3],)}
    return Finding(kind, message, int(line[1]) if line else None, location)
