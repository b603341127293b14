"""How far clang stands in for NVRTC: every CUDA rung of every ladder compiled by clang, and judged as `check` does.

    python bench/clang_front_end.py [--problem P]… [--compile-only]

The clang is the one that `compiler="clang"` takes. What was done before for the same clang and the same sources is
taken from bench/results/clang_front_end.json, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

os.environ["GRIDSTRIDE_COMPILER"] = "clang"

from common import RESULTS, machine, save

import gridstride as gs
from gridstride.compiler import CompileError, compile_cuda
from gridstride.compiler.clang.clang_program import find_clang
from gridstride.judge.find import find, problem_names
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder

CHIP = "h200"
SEED = 20261128


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--problem", action="append", default=[])
    words.add_argument("--compile-only", action="store_true")
    asked = words.parse_args()
    started = machine()
    clang = find_clang().identity.partition("\n")[0].rpartition("clang version")[2].strip()
    known = _known(clang)
    rungs: dict[str, dict[str, Any]] = {}
    for name in asked.problem or problem_names():
        folder = find(name)
        ladder = Ladder(folder, device=gs.VirtualGPU(CHIP), seed=SEED)
        for file in folder.rungs():
            if not file.filename.endswith(".cu"):
                continue
            rung = f"{name}/{file.name}"
            digest = blake2b(file.source.encode(), digest_size=8).hexdigest()
            row = known.get(rung, {})
            if row.get("source") != digest or ("verdict" not in row and not asked.compile_only):
                row = {"source": digest, **_compiled(file)}
                if row["compiles"] and not asked.compile_only:
                    row |= _judged(ladder, file)
                print(rung, {each: value for each, value in row.items() if each != "source"}, flush=True)
            rungs[rung] = row
            _save(clang, known | rungs, started)
    print(json.dumps(_save(clang, known | rungs, started), indent=1))


def _compiled(file: KernelFile) -> dict[str, Any]:
    names = (file.entry,) if file.entry and "<" in file.entry else ()
    begun = time.perf_counter()
    try:
        made = compile_cuda(file.source, names=names, filename=file.filename)
    except CompileError as error:
        reason = f"line {error.line}: {error.message}"
        return {"compiles": False, "seconds": round(time.perf_counter() - begun, 2), "reason": reason}
    row: dict[str, Any] = {"compiles": True, "seconds": round(time.perf_counter() - begun, 2)}
    return row | ({"warnings": [warning.message for warning in made.warnings]} if made.warnings else {})


def _judged(ladder: Ladder, file: KernelFile) -> dict[str, Any]:
    begun = time.perf_counter()
    result = ladder.judge(file)
    row: dict[str, Any] = {"verdict": result.verdict, "judged_seconds": round(time.perf_counter() - begun, 1)}
    if result.findings:
        first = result.findings[0]
        row["reason"] = f"{first.kind}, line {first.line}: {first.message.splitlines()[0]}"
    return row


def _known(clang: str) -> dict[str, dict[str, Any]]:
    path = RESULTS / "clang_front_end.json"
    before: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return dict(before.get("by_rung", {})) if before.get("clang") == clang else {}


def _save(clang: str, rungs: dict[str, dict[str, Any]], started: dict[str, Any]) -> dict[str, Any]:
    judged = [row for row in rungs.values() if "verdict" in row]
    summary = {
        "rungs": len(rungs),
        "compile": sum(row["compiles"] for row in rungs.values()),
        "judged": len(judged),
        "pass": sum(row["verdict"] == "pass" for row in judged),
        "reasons": dict(Counter(row["reason"].partition(": ")[2] for row in rungs.values() if "reason" in row)),
    }
    save("clang_front_end", {"clang": clang, "chip": CHIP, "summary": summary, "by_rung": rungs}, started=started)
    return summary


if __name__ == "__main__":
    main()
