"""numba-cuda's own tests as Python programs on the virtual GPU: `python bench/numba_programs.py [--only WORD …]`.

The tests, unchanged, are those of the installed package (numba_cuda/numba/cuda/tests), of which nothing is kept here.
Each module of the folders in FOLDERS is run by `gridstride run`, in a process that is begun again behind a test in
which it ended. A test

    passed    as unittest counts it, or fails where it is expected to
    failed    otherwise; failures are grouped by the last line of what they say
    skipped   says itself that it does not run here
    ended     the process: a signal, or the limit of a module (--limit seconds)

--into names a folder for what each test says, from which a run that was ended goes on; --again forgets there what has
failed; --finished runs nothing and records what is there; --jobs runs modules side by side. Some
tests need filecheck and cffi, which `gridstride[numba]` does not bring.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, util
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from common import machine, save  # noqa: E402

RUNNER = HERE / "parts" / "numba_tests.py"
FOLDERS = ("doc_examples", "cudapy", "cudadrv", "nrt", "core")
PACKAGE = "numba.cuda.tests"
_ADDRESS = re.compile(r"0x[0-9a-f]+|\b\d+\b")
_MOST_STARTS = 40


def modules(words: list[str]) -> list[str]:
    """Names of the test modules, of those that contain one of the words where there are any."""
    package = util.find_spec("numba_cuda")
    if package is None or package.origin is None:
        raise SystemExit("error: numba-cuda is not installed: pip install 'gridstride[numba]'")
    root = Path(package.origin).parent / "numba" / "cuda" / "tests"
    found = [
        f"{PACKAGE}.{folder}.{path.stem}" for folder in FOLDERS for path in sorted((root / folder).glob("test_*.py"))
    ]
    chosen = [name for name in found if not words or any(word in name for word in words)]
    random.Random(0).shuffle(chosen)  # what a run that is ended early has reached is a sample of all
    return chosen


def run_module(name: str, into: Path, limit: float) -> list[dict[str, Any]]:
    """What came of each of its tests."""
    file, through = into / f"{name}.jsonl", into / f"{name}.through"
    if through.exists() or limit == 0:
        return list(ended(file, None))
    command = [
        sys.executable,
        "-m",
        "gridstride",
        "run",
        "--time-limit",
        str(limit),
        str(RUNNER),
        "--",
        name,
        str(file),
    ]
    for _ in range(_MOST_STARTS):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        outcomes = list(ended(file, done))
        if done.returncode == 0:
            through.touch()
            break
    if not file.exists() and done.returncode:
        return [{"test": name, "outcome": "failed", "reason": done.stderr[-2000:], "seconds": 0}]
    return [] if not file.exists() else outcomes


def forget_failures(into: Path) -> None:
    """Of the tests in a folder those that failed, or in which the process ended."""
    for file in into.glob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        last = {words["test"]: words["outcome"] for words in lines}
        kept = [words for words in lines if last[words["test"]] in ("passed", "skipped")]
        file.write_text("".join(json.dumps(words) + "\n" for words in kept))
        if len(kept) < len(lines):
            file.with_suffix(".through").unlink(missing_ok=True)


def ended(file: Path, done: subprocess.CompletedProcess[str] | None) -> Iterator[dict[str, Any]]:
    """The last that the file says of each test; who began and did not end has the process' end for a reason."""
    last: dict[str, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        words = json.loads(line)
        last[words["test"]] = words
    for words in last.values():
        if words["outcome"] == "began" and done is not None:
            reason = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
            yield words | {"outcome": "ended", "reason": f"exit status {done.returncode}: {reason}"}
        else:
            yield words


def group(reason: str) -> str:
    """The last line of what a failure says, without its numbers."""
    lines = [line.strip() for line in reason.strip().splitlines() if line.strip()]
    return _ADDRESS.sub("N", lines[-1])[:160] if lines else "no reason"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", nargs="*", default=[], metavar="WORD")
    words.add_argument("--limit", type=float, default=300, metavar="S")
    words.add_argument("--jobs", type=int, default=1, metavar="N")
    words.add_argument("--again", action="store_true")
    words.add_argument("--finished", action="store_true")
    words.add_argument("--into", type=Path, metavar="DIR")
    options = words.parse_args()
    started = machine()
    into = options.into or Path(tempfile.mkdtemp(prefix="numba-programs-"))
    into.mkdir(parents=True, exist_ok=True)
    if options.finished:
        options.limit = 0
    if options.again:
        forget_failures(into)
    names = modules(options.only)
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes: dict[str, list[dict[str, Any]]] = {}
        for name, found in zip(names, pool.map(lambda each: run_module(each, into, options.limit), names), strict=True):
            outcomes[name] = found
            print(f"{name.removeprefix(PACKAGE + '.')}: {dict(Counter(each['outcome'] for each in found))}", flush=True)
    tests = [each for found in outcomes.values() for each in found if each["outcome"] != "began"]
    counts = Counter(each["outcome"] for each in tests)
    reasons = Counter(group(each["reason"]) for each in tests if each["outcome"] in ("failed", "ended"))
    skipped = Counter(group(each["reason"]) for each in tests if each["outcome"] == "skipped")
    print(dict(counts))
    for reason, number in reasons.most_common(40):
        print(f"{number:5}  {reason}")
    if options.only:
        return
    path = save("numba_programs", {
        "numba_cuda": metadata.version("numba-cuda"), "tests": dict(counts), "reasons": dict(reasons.most_common()),
        "skipped_because": dict(skipped.most_common()),
        "not_reached": sorted(n.removeprefix(PACKAGE + ".") for n in names if not (into / f"{n}.through").exists()),
        "modules": {name.removeprefix(PACKAGE + "."): dict(Counter(each["outcome"] for each in found))
                    for name, found in outcomes.items()},
        "not_passed": sorted(f"{each['test'].removeprefix(PACKAGE + '.')}: {group(each['reason'])}" for each in tests
                             if each["outcome"] in ("failed", "ended")),
    }, started=started)  # fmt: skip
    print(path)


if __name__ == "__main__":
    main()
