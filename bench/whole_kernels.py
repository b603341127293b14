"""The whole kernels of the tests on both machines: `python bench/whole_kernels.py [name …]`, on a machine with a GPU.

Each kernel of `tests/virtual/cases/*_cases.py` runs on the physical and on the virtual GPU, is checked against NumPy on
both, and the two results are compared: equal to the bit where the kernel says so, else with the largest difference.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/virtual/cases")]

import attention_cases  # noqa: E402
import pipeline_cases  # noqa: E402
import reduction_cases  # noqa: E402
import waiting_cases  # noqa: E402
from suite import Case, check  # noqa: E402

import gridstride as gs  # noqa: E402

ROOMS = {
    "pipelines": pipeline_cases, "attention": attention_cases, "reductions": reduction_cases, "waiting": waiting_cases,
}  # fmt: skip


def compared(case: Case) -> str:
    """How the two machines' results differ, in words; what went wrong where one did not give a right result."""
    results = []
    for machine in ("physical", "virtual"):
        try:
            with gs.use(machine):
                results.append(check(case))
        except Exception as error:  # one kernel that fails must not hide the others
            first = str(error).strip().splitlines() or [""]
            return f"WRONG on the {machine} GPU: {type(error).__name__}: {' '.join(first)[:300]}"
    ours, theirs = results
    if np.array_equal(ours.view(np.uint8), theirs.view(np.uint8)):
        return "equal"
    apart = abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()
    return f"{'WRONG: ' if case.exact else ''}{(ours != theirs).sum()} of {ours.size} differ, at most {apart:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of cases; all unless given")
    names = parser.parse_args().names
    wrong = 0
    for room, cases in ROOMS.items():
        for case in cases.CASES:
            if not names or case.name in names:
                outcome = compared(case)
                wrong += outcome.startswith("WRONG")
                print(f"{room:11} {case.name:24} {outcome}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
