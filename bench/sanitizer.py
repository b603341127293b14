"""What compute-sanitizer finds in the faulty kernels of tests/virtual/faulty, beside what the virtual GPU finds.

Needs a GPU, and compute-sanitizer from the CUDA toolkit: `python bench/sanitizer.py` writes one JSON table. Each kernel
runs in a process of its own, for some of them hang the GPU until they are stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "virtual" / "faulty"
TABLE = ROOT / "tests" / "virtual" / "fixtures" / "compute_sanitizer_h200.json"
TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
PATIENCE = 15
"""Seconds for a kernel under one tool."""


def launch(path: Path) -> None:
    """Runs one kernel on the GPU; what the tool around this process prints is the result."""
    import numpy as np

    import gridstride as gs

    block = re.search(r"^// block: (\d+)$", path.read_text(), re.MULTILINE)
    with gs.use("physical"):
        out, data = gs.empty(1024, np.int32), gs.to_device(np.arange(1024, dtype=np.int32))
        gs.cuda(path.read_text(), filename=path.name)["k"][1, int(block[1]) if block else 64](out, data, 5)
        out.numpy()


def examine(path: Path, tool: str) -> str:
    """The tool's first complaint, "silent", or "hangs"."""
    command = ["compute-sanitizer", "--tool", tool, sys.executable, __file__, "--launch", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    lines = [line.removeprefix("=========").strip() for line in done.stdout.splitlines() if line.startswith("=====")]
    told = [x for x in lines if x and not re.match(r"COMPUTE-SANITIZER|\w+ SUMMARY: 0|Target application", x)]
    return told[0] if told else "silent"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launch", type=Path, help="run this one kernel and nothing else")
    parser.add_argument("--output", type=Path, default=TABLE)
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args()
    if options.launch:
        launch(options.launch)
        return
    cases = [(path, tool) for path in sorted(FOLDER.glob("*.cu")) for tool in TOOLS]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: examine(*case), cases))
    table: dict[str, dict[str, str]] = {}
    for (path, tool), result in zip(cases, results, strict=True):
        expected = re.search(r"^// expect: (\w+)$", path.read_text(), re.MULTILINE)
        row = table.setdefault(path.stem, {"virtual": expected[1] if expected else ""})
        row[tool] = result
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(table, indent=1) + "\n")
    for name, row in table.items():
        print(f"{name:24}", *(f"{key}: {value[:40]}" for key, value in row.items()), sep="  ")


if __name__ == "__main__":
    main()
