"""How often the sanitizer cries wolf: everything that is right, run under it.

    python bench/false_alarms.py [--workers N]

Every rung of every ladder on all public and some hidden cases; the kernels of bench/kernels; correct submissions in
Triton and Numba; and the tests of CUB, libcu++, cooperative groups, Triton, Numba and the whole kernels, with every
launch under the sanitizer. A finding is a false alarm, but where a test is there to provoke it: those are listed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from blind_set import blind
from common import ROOT, machine, save
from kernel_set import fresh, limited, real

import gridstride as gs
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find, problem_names
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import check
from gridstride.judge.verify import verify

SEED = 20261121
TESTS = (
    "cub", "libcudacxx", "cooperative_groups", "triton_kernels", "triton_tutorials", "triton_warpgroups",
    "numba_kernels", "numba_manual", "attention_kernels", "pipelines", "reductions", "waiting_kernels",
    "warpgroup_kernels", "algorithms",
)  # fmt: skip
RACES = {
    "real/scatter": "threads write to places drawn at random, some of them to the same one",
    "limited/shared_write_32": "rounds write to each other's words with no barrier, and words that none wrote are read",
}
"""Kernels that are there for their counts and are not right: what is found in them is so."""
FEW = 4  # blocks of a kernel that is made for the whole chip


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--workers", type=int, default=1)
    asked = words.parse_args()
    started = machine()
    kernels = list(judged(asked.workers))
    tests = list(tested(asked.workers))
    alarms = [each for each in (*kernels, *tests) if each.get("alarm") and each.get("name") not in RACES]
    provoked = [each for each in tests if each["found"] and not each["alarm"]]
    failed = [each for each in tests if each["outcome"] == "failed" and not each["alarm"]]
    summary = {
        "kernels": len(kernels), "runs": sum(each["runs"] for each in kernels),
        "tests": len(tests), "launches_in_tests": sum(each["launches"] for each in tests),
        "false_alarms": len(alarms), "tests_that_provoke": len(provoked), "tests_failed_otherwise": len(failed),
    }  # fmt: skip
    for each in alarms:
        print("FALSE ALARM", json.dumps(each)[:600])
    for each in failed:
        print("failed", each["test"], each["error"])
    for each in provoked:
        print("provoked", each["test"], sorted({found.partition(":")[0] for found in each["found"]}))
    print(json.dumps(summary))
    by_file = {name: sum(f"test_{name}.py" in each["test"] for each in tests) for name in TESTS}
    listed = [
        {"test": each["test"], "found": sorted({f.partition(":")[0] for f in each["found"]})} for each in provoked
    ]
    found = {
        "summary": summary,
        "tests_by_file": by_file,
        "alarms": alarms,
        "races": RACES,
        "provoked": listed,
        "failed": failed,
    }
    save("false_alarms", {**found, "kernels": [each["name"] for each in kernels]}, started=started)


def judged(workers: int) -> Iterator[dict[str, Any]]:
    """Rungs, kernels of bench/kernels, submissions in Python."""
    rungs = [(name, file.name) for name in problem_names() for file in find(name).rungs()]
    with ProcessPoolExecutor(workers) as pool:
        for each in (*pool.map(rung, rungs), *pool.map(kernel, names()), *pool.map(submission, submissions())):
            print(each["name"], each["runs"], *each["found"], file=sys.stderr, flush=True)
            yield each


def rung(which: tuple[str, str]) -> dict[str, Any]:
    """A rung on every case, in the order of the judge."""
    folder = find(which[0])
    file = next(each for each in folder.rungs() if each.name == which[1])
    cases = all_cases(folder.problem, seed=SEED)
    runnable = build(folder.problem, file, gs.VirtualGPU(workers=1, sanitize=True))
    return told("/".join(which), verify(folder.problem, runnable, prepare(folder.problem, cases)).findings, len(cases))


def names() -> list[tuple[str, int]]:
    """The sets of kernels that are not of a ladder, by name, and how many each has."""
    return [(name, number) for name, each in SETS.items() for number in range(len(list(each())))]


SETS = {"real": real, "limited": limited, "fresh": fresh, "blind": blind}


def kernel(which: tuple[str, int]) -> dict[str, Any]:
    """One of them at a small size."""
    name, number = which
    with gs.use(gs.VirtualGPU(workers=1, sanitize=True, memory=4 << 30)):
        one: Any = list(SETS[name]())[number]
        if name == "real":
            run = one.launch(observe=True)
        elif name == "limited":
            blocks = min(FEW, one.grid)
            run = one.kernel.observe(blocks, one.block)(*one.arguments(blocks, one.few[0]))
        else:
            run = one.make(one.small).launch(observe=True)
    return told(f"{name}/{one.name}", run.findings, 1)


def submissions() -> list[Path]:
    """Correct ones in Python, where the system can hold them."""
    return [] if why_not() else sorted((ROOT / "tests/judge/correct").glob("*.py"))


def submission(path: Path) -> dict[str, Any]:
    """As `gridstride check` judges it."""
    folder = find(path.stem.partition("_")[2])
    result = check(path, folder, device=gs.VirtualGPU(workers=1), seed=SEED)
    return told(f"correct/{path.name}", result.findings, result.cases)


def told(name: str, findings: Any, runs: int) -> dict[str, Any]:
    found = [f"{each.kind}: {each.message}"[:300] for each in findings]
    return {"name": name, "runs": runs, "found": found, "alarm": bool(found)}


def tested(workers: int) -> Iterator[dict[str, Any]]:
    """What each test launched and what was found."""
    files = [str(next((ROOT / "tests/virtual").rglob(f"test_{name}.py"))) for name in TESTS]
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        places = [str(ROOT / "src"), str(ROOT / "bench/parts"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "GRIDSTRIDE_ALARMS": str(notes), "PYTHONPATH": os.pathsep.join(places)}
        spread = ["-n", str(workers if workers > 1 else 0), "--timeout", "600"]
        options = ["-q", "-p", "under_sanitizer", "-m", "not gpu", "-p", "no:cacheprovider", *spread]
        command = [sys.executable, "-m", "pytest", *options, *files]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        print(done.stdout[-1500:], done.stderr[-500:], file=sys.stderr, flush=True)
        for line in notes.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


if __name__ == "__main__":
    main()
