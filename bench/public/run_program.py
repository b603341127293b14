"""Builds one program and runs it, for bench/public_kernels.py: `run_program.py ORDER.json`, the answer as JSON.

ORDER holds `files`, `include`, `define`, `std`, `flags`, `libraries`, `gpus`, `late`, `cuda11`, `runs` (each run's
arguments), `folder` (where it runs), `limit` in seconds of each run. A process of its own, so that a compiler that
hangs can be ended.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from gridstride.compiler.names import source_name
from gridstride.programs.calls.fat_binary import NoPtx, ptx_of
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.run import Settings, build, run
from gridstride.programs.sources import Options, sources

LAUNCHES = Path(__file__).resolve().parent / "launches"
SOURCE = Path(__file__).resolve().parents[2] / "src"
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_MOST = 20_000  # characters of a program's output that are kept


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """What became of the program."""
    options = Options(
        include=tuple(order.get("include", ())), define=tuple(order.get("define", ())),
        libraries=tuple(order.get("libraries", ())), std=order.get("std"), flags=tuple(order.get("flags", ())),
        cuda11=order.get("cuda11", False),
    )  # fmt: skip
    try:
        built = build(sources(order["files"]), options, arch=order.get("arch", "sm_90a"), progress=lambda _: None)
    except BuildFailed as failed:
        return {"stage": "build", "error": f"{failed}\n{failed.output}"[:_MOST]}
    except ProgramError as error:
        return {"stage": "build", "error": str(error)}
    try:
        kernels = sorted({source_name(each) or each for ptx in ptx_of(built.program) for each in _ENTRY.findall(ptx)})
    except NoPtx:
        kernels = []
    os.chdir(order["folder"])
    return {"stage": "run", "kernels": kernels, "runs": [_run(built, each, order) for each in order["runs"]]}


def _run(built: Any, arguments: list[str], order: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        notes, output = Path(folder) / "notes", Path(folder) / "output"
        notes.touch()
        os.environ |= {"GRIDSTRIDE_LAUNCHES": str(notes), "PYTHONPATH": f"{LAUNCHES}{os.pathsep}{SOURCE}"}
        with output.open("wb") as file:
            os.dup2(file.fileno(), 2)
            gpus, late = order.get("gpus", 1), order.get("late", False)
            settings = Settings(time_limit=order["limit"], stdout=file.fileno(), gpus=gpus, late=late)
            ended = run(built, ["./program", *arguments], settings)
        said = output.read_text(encoding="utf-8", errors="replace")
        launched = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    for each in launched:
        each["kernel"] = source_name(each["kernel"]) or each["kernel"]
    return {
        "status": ended.status, "timed_out": ended.timed_out, "seconds": round(ended.seconds, 1), "launched": launched,
        "findings": [f"{each.get('kind')}: {each.get('message')}"[:300] for each in ended.findings][:5],
        "output": said if len(said) <= _MOST else said[: _MOST // 2] + "\n…\n" + said[-_MOST // 2 :],
    }  # fmt: skip


if __name__ == "__main__":
    found = answer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(json.dumps(found))
