"""What CUB's radix sort and Thrust's sort launch and write, counted on the virtual GPU: for day 29 of the course.

    python bench/radix_sort.py

The counts go to bench/results/radix_sort.json. Their kernels take longer to be compiled for counting than a lesson's
figures may take.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from common import save  # noqa: E402

KEYS = 65_536
RUNS = {"cub_12": ("12", "4"), "cub_32": ("32", "4"), "cub_64": ("64", "8"), "thrust": ("12", "thrust")}
"""Bits of a key, and its bytes; or Thrust, which is not told how many bits there are."""


def counted(bits: str, how: str) -> dict[str, float]:
    """Launches, and how many times over the array the sectors are that were written; RuntimeError."""
    program = ROOT / "bench" / "radix_sort.cu"
    words = ["run", "--predict", "--json", str(program), "--", str(KEYS), bits, how]
    command = [sys.executable, "-m", "gridstride", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode or " 0 of them" not in done.stderr:
        raise RuntimeError(f"{' '.join(command)} gave {done.returncode}: {done.stderr.strip()[-500:]}")
    activity = json.loads(done.stdout)["activity"]
    nbytes = KEYS * (8 if how == "8" else 4)
    return {"launches": activity["launches"], "written": activity["global_store_sectors"] * 32 / nbytes}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    runs = {name: counted(*arguments) for name, arguments in RUNS.items()}
    for name, run in runs.items():
        print(f"{name:8} {run['launches']:3} launches, written {run['written']:.2f} times the array")
    save("radix_sort", {"chip": "h200, virtual", "keys": KEYS, "runs": runs})


if __name__ == "__main__":
    main()
