"""What compute-sanitizer finds in the faulty kernels of tests/virtual/faulty, for comparison with the virtual GPU.

    python bench/sanitizer.py record              # with a GPU: each kernel under each tool
    python bench/sanitizer.py record OUT.json     # the same, written elsewhere

Needs compute-sanitizer from the CUDA toolkit. Each kernel runs in a process of its own and is stopped after a few
seconds, for some of them hang the GPU; those come last. tests/virtual/findings/test_against_compute_sanitizer.py holds
the virtual GPU to the recording.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "virtual" / "faulty"
TABLE = ROOT / "tests" / "virtual" / "fixtures" / "compute_sanitizer_h200.json"
TOOLS = ("none", "memcheck", "initcheck", "racecheck", "synccheck")
"""none: the kernel on its own, to see what the GPU makes of it."""
PATIENCE = 8.0
"""Seconds for a kernel under one tool."""
BUDGET = 130.0
"""Seconds for all: what has not begun by then is left out, and said to be."""
HANGING = ("deadlock", "timeout")
NO_COMPLAINT = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY|Target application|Process didn't|Saved host backtrace|No attachable|Host Frame|"
    r"Program hit|Error: No|Target process"
)


def said_in(path: Path) -> dict[str, str]:
    """What a file's comments say about it: expect, block, seed."""
    return dict(re.findall(r"^// (expect|block|seed): (\w+)$", path.read_text(), re.MULTILINE))


def launch(path: Path, device: str) -> None:
    """Runs one kernel; what the tool around this process prints is the result."""
    import numpy as np

    sys.path.insert(0, str(ROOT / "src"))
    import gridstride as gs

    with gs.use(device):
        out, data = gs.empty(1024, np.int32), gs.to_device(np.arange(1024, dtype=np.int32))
        gs.cuda(path.read_text(), filename=path.name)["k"][1, int(said_in(path).get("block", 64))](out, data, 5)
        out.numpy()


def examine(path: Path, tool: str, sanitizer: str, device: str, patience: float) -> dict[str, Any]:
    """The tool's first complaint with its line, how many there were, and how the process ended."""
    command = [sys.executable, __file__, "launch", str(path), "--device", device]
    if tool != "none":
        options = ["--report-api-errors", "no"] if tool == "memcheck" else []
        command = [sanitizer, "--tool", tool, *options, *command]
    begin = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    hangs = False
    try:
        text, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        hangs = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the tool, and the kernel's process below it
        text, _ = process.communicate()
    return {**told(text), "hangs": hangs, "status": process.returncode, "seconds": round(time.monotonic() - begin, 2)}


def told(text: str) -> dict[str, Any]:
    """What a tool has printed: its first complaint, the line that it names, and the number of complaints."""
    lines = [line.removeprefix("=========").removeprefix(" ") for line in text.splitlines() if line.startswith("=====")]
    starts = [n for n, x in enumerate(lines) if x and not x[0].isspace() and not NO_COMPLAINT.match(x)]
    if not starts:
        other = [x for x in text.splitlines() if x and not x.startswith("=====")]
        return {"says": None, "line": None, "complaints": 0, "last_words": other[-1][:200] if other else ""}
    first = starts[0]
    end = starts[1] if len(starts) > 1 else len(lines)
    place = re.search(r"\.cu:(\d+)", "\n".join(lines[first:end]))
    return {"says": lines[first][:200], "line": int(place[1]) if place else None, "complaints": len(starts)}


def record(output: Path, sanitizer: str, device: str, jobs: int, patience: float, budget: float) -> None:
    """Examines every kernel under every tool, those that hang last."""
    paths = sorted(FOLDER.glob("*.cu"), key=lambda p: (said_in(p)["expect"] in HANGING, p.name))
    begin = time.monotonic()
    results: dict[tuple[Path, str], dict[str, Any] | None] = {}

    def one(case: tuple[Path, str], patience: float) -> None:
        if time.monotonic() - begin > budget - patience:
            results.setdefault(case, None)
            return
        try:
            results[case] = examine(*case, sanitizer, device, patience)
        except OSError as error:
            results[case] = {"says": None, "line": None, "complaints": 0, "error": str(error)}

    cases = [(path, tool) for path in paths for tool in TOOLS]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda case: one(case, patience), cases))
    # Where many at once were too slow for some, few and longer tell whether they hang.
    again = [c for c in cases if (results[c] or {}).get("hangs") and said_in(c[0])["expect"] not in HANGING]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda case: one(case, 2 * patience), again))
    kernels: dict[str, dict[str, Any]] = {}
    for path, tool in cases:
        row = kernels.setdefault(path.stem, {"expect": said_in(path)["expect"], "tools": {}})
        row["tools"][tool] = results[path, tool]
    seconds = round(time.monotonic() - begin, 1)
    table = {**machine(sanitizer), "seconds": seconds, "patience_s": patience, "kernels": kernels}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(table, indent=1) + "\n")
    show(kernels)


def machine(sanitizer: str) -> dict[str, str]:
    """The GPU, the tool's version, the day and the command."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    day, command = datetime.datetime.now(datetime.UTC).date().isoformat(), "python bench/sanitizer.py record"
    return {"gpu": _first_line(query), "tool": _first_line([sanitizer, "--version"], -1), "date": day,
            "command": command}  # fmt: skip


def _first_line(command: list[str], which: int = 0) -> str:
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return text.splitlines()[which] if text else "unknown"


def show(kernels: dict[str, dict[str, Any]]) -> None:
    """A row for each kernel: what must be found, then each tool's first complaint."""
    for name, row in kernels.items():
        print(f"{name:24} {row['expect']:20}", *(f"{t}: {_brief(r)}" for t, r in row["tools"].items()), sep="  ")


def _brief(result: dict[str, Any] | None) -> str:
    if result is None:
        return "not run"
    if result["says"]:
        return f"{result['says'][:44]} ({result['line']})"
    return "hangs" if result.get("hangs") else result.get("error") or f"silent [{result.get('status')}]"


def _sanitizer() -> str:
    """Where the toolkit puts compute-sanitizer, if it is not on the path."""
    found = shutil.which("compute-sanitizer")
    usual = ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
    return found or next((p for p in usual if Path(p).is_file()), "compute-sanitizer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "launch"))
    parser.add_argument("path", type=Path, nargs="?", default=TABLE)
    parser.add_argument("--device", default="physical", help="virtual: to try this script without a GPU")
    parser.add_argument("--sanitizer", default=_sanitizer())
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--patience", type=float, default=PATIENCE)
    parser.add_argument("--budget", type=float, default=BUDGET)
    options = parser.parse_args()
    if options.what == "launch":
        launch(options.path, options.device)
        return
    record(options.path, options.sanitizer, options.device, options.jobs, options.patience, options.budget)


if __name__ == "__main__":
    main()
