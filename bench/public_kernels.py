"""Others' kernels on the virtual GPU: `python bench/public_kernels.py FOLDER [--collection NAME …] [--only WORD …]`.

FOLDER holds copies of public collections, each by the name of its repository: cuda-samples, gpu-rodinia, llm.c,
LeetCUDA, fast.cu, triton (python/tutorials), Liger-Kernel; one that is not there is left out. None of it is ours, and
none of it is kept here. Programs run whole, through nvcc and our libcudart, where they check themselves; LeetCUDA's
kernels run through their own launchers and are compared with NumPy; Triton's tutorials and Liger's tests compare with
PyTorch. Each kernel is then

    right      it was launched, and its program's own check, or NumPy's answer, agrees
    wrong      it was launched, and they do not agree
    refused    the virtual GPU, or what stands around it, refuses it or ends it
    unchecked  it ran, and nothing says what is right
    theirs     it cannot run anywhere here: a library, a display, a file that is missing, code that does not compile
    not run    its program does not launch it

Finished programs are kept in FOLDER/.done.jsonl, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE), str(HERE / "public")]

import leetcuda  # noqa: E402
import leetcuda_mains  # noqa: E402
import main_program  # noqa: E402
import mains  # noqa: E402
import triton_libraries  # noqa: E402
from common import machine, save  # noqa: E402

BUILD_LIMIT = 400
"""Seconds that compiling may take."""


@dataclass(frozen=True)
class Judged:
    """One kernel in one program."""

    collection: str
    program: str
    kernel: str
    verdict: str
    reason: str = ""


Result = dict[str, Any]
"""What run_program.py answers."""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("--collection", nargs="*", default=list(COLLECTIONS), choices=COLLECTIONS)
    words.add_argument("--only", nargs="*", default=[""], help="programs with one of these words in their names")
    words.add_argument("--again", action="store_true", help="run what was run before")
    words.add_argument("--finished", action="store_true", help="run nothing: publish what was run")
    words.add_argument("--note", help="a word beside published results: which of them are of an earlier day, say")
    asked = words.parse_args()
    started = machine()
    done = _Done(asked.folder / ".done.jsonl", again=asked.again, run=not asked.finished)
    judged: list[Judged] = []
    for collection in asked.collection:
        if (asked.folder / collection).is_dir():
            judged += COLLECTIONS[collection](asked.folder.resolve() / collection, asked.only, done)
    places = re.compile(rf"{re.escape(str(asked.folder.resolve()))}/|/tmp/tmp\w+/")
    judged = [replace(each, reason=places.sub("", each.reason)) for each in judged
              if not OWN_LIBRARIES.match(each.kernel)]  # fmt: skip
    report(judged, done.left, started, publish=asked.finished, note=asked.note)


class _Done:
    """What was judged in runs before this one."""

    def __init__(self, path: Path, *, again: bool, run: bool) -> None:
        self._path, self._run = path, run
        self.left: list[str] = []
        """Programs that were not run."""
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() and not again else []
        self._known = {each["key"]: each["judged"] for each in map(json.loads, lines)}

    def kept(self, key: str, judge: Callable[[], list[Judged]]) -> list[Judged]:
        """The judgement of a program, made now where there is none."""
        if key not in self._known and not self._run:
            self.left.append(key)
            return []
        if key not in self._known:
            self._known[key] = [asdict(each) for each in judge()]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "judged": self._known[key]}) + "\n")
        found = [Judged(**each) for each in self._known[key]]
        told = Counter(each.verdict for each in found)
        reasons = sorted({each.reason for each in found if each.verdict not in ("right", "not run")})
        print(key, dict(told), *(each[:300] for each in reasons), sep="  ", flush=True)
        return found


def run_program(order: dict[str, Any]) -> Result:
    """The answer of run_program.py, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "order.json"
        path.write_text(json.dumps(order))
        command = [sys.executable, str(HERE / "public" / "run_program.py"), str(path)]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment,
                                  timeout=BUILD_LIMIT + len(order["runs"]) * (order["limit"] + 20))  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"stage": "build", "error": f"the compiler had not ended after {BUILD_LIMIT} s"}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return {"stage": "build", "error": (done.stdout + done.stderr)[-2000:]}
    return answer


# -- programs that check themselves -----------------------------------------------------------------------------------
def whole_programs(root: Path, only: list[str], done: _Done) -> Iterator[Judged]:
    """Of a collection whose main() functions check what kernels did."""
    for each in mains.programs(root):
        if any(word in each.name for word in only):
            yield from done.kept(f"{root.name}/{each.name}", lambda each=each: _whole(root, each))


def _whole(root: Path, each: main_program.Main) -> list[Judged]:
    if each.theirs:
        return [Judged(root.name, each.name, "", "theirs", each.theirs)]
    with tempfile.TemporaryDirectory() as folder:
        refused = each.prepare(Path(folder)) if each.prepare else None
        if refused:
            return [Judged(root.name, each.name, "", "refused", refused)]
        result = run_program(each.order(Path(folder)))
        if result["stage"] == "build":
            error = result["error"]
            verdict = "theirs" if main_program.THEIR_ERRORS.search(error) else "refused"
            return [Judged(root.name, each.name, "", verdict, _brief(error))]
        ends = [ended(run, each, Path(folder)) for run in result["runs"]]
    found = {name: Judged(root.name, each.name, name, "not run") for name in result["kernels"]}
    for run, end in zip(result["runs"], ends, strict=True):
        for judged in kernels_of(run, root.name, each.name, *end):
            known = found.get(judged.kernel, judged)
            found[judged.kernel] = max(known, judged, key=lambda one: ORDER.index(one.verdict))
    acquit(found, result["runs"], ends)
    return list(found.values())


ORDER = ("not run", "unchecked", "theirs", "right", "refused", "wrong")
"""Of two runs that launch a kernel, the later word counts."""
OWN_LIBRARIES = re.compile(r"_ZN\d+gs_(?:blas|fft|rand|sparse)")
"""Kernels of GridStride's own cuBLAS and the like, which are linked to programs that call them."""


def kernels_of(run: Result, collection: str, program: str, verdict: str, reason: str) -> Iterator[Judged]:
    """Each kernel that a run launched, with the run's verdict, or its own where its launch failed."""
    launched: dict[str, str] = {}
    for launch in run["launched"]:
        launched[launch["kernel"]] = launched.get(launch["kernel"]) or launch["error"]
    if not launched and verdict != "right":
        yield Judged(collection, program, "", verdict, reason)
    for name, error in launched.items():
        if error and verdict not in ("theirs", "right"):
            yield Judged(collection, program, name, "refused", error)
        else:
            yield Judged(collection, program, name, verdict, reason)


def acquit(found: dict[str, Judged], runs: list[Result], ends: list[tuple[str, str]]) -> None:
    """Of a wrong run, those kernels count that no right run launches; where each is in a right run, all of them."""
    launched = [{launch["kernel"] for launch in run["launched"]} for run in runs]
    good: set[str] = set().union(*(names for names, end in zip(launched, ends, strict=True) if end[0] == "right"))
    bad = [names for names, end in zip(launched, ends, strict=True) if end[0] == "wrong"]
    for name in good:
        if found[name].verdict == "wrong" and all(names - good for names in bad if name in names):
            found[name] = replace(found[name], verdict="right", reason="")


def ended(result: Result, each: main_program.Main, folder: Path) -> tuple[str, str]:
    """The verdict that a run's end, its words and what it left in the folder give, with the reason."""
    said = result["output"]
    if result["timed_out"]:
        return "refused", f"not ended after {each.limit} s"
    if theirs := main_program.THEIR_OUTPUT.search(said):
        return "theirs", theirs[0]
    if result["status"] != 0 or (each.check is None and each.wrong.search(said)):
        return "wrong", f"exit status {result['status']}: {_brief(said[-600:])}"
    if each.check is not None:
        try:
            wrong = each.check(folder, said)
        except (IndexError, OSError, ValueError) as missing:
            wrong = f"what the check looks for is not there: {missing}: {_brief(said[-300:])}"
        return ("wrong", wrong) if wrong else ("right", "")
    if each.unchecked:
        return "unchecked", each.unchecked
    return ("right", "") if each.status_tells or each.right.search(said) else ("unchecked", _brief(said[-200:]))


def _brief(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:500]


# -- LeetCUDA, through its launchers ----------------------------------------------------------------------------------
def launchers(root: Path, only: list[str], done: _Done) -> Iterator[Judged]:
    """LeetCUDA's kernels through its own host functions."""
    for each in (*leetcuda.programs(), *leetcuda_mains.programs()):
        if any(word in each.name for word in only):
            yield from done.kept(f"{root.name}/{each.name}", lambda each=each: _launched(root, each))
    for name, unable in triton_libraries.LEET.items():
        if any(word in name for word in only):
            found = partial(triton_libraries.script, root / "kernels" / f"{name}.py", unable)
            yield from done.kept(f"{root.name}/{name}", lambda name=name, found=found: _named(root, name, found()))


def _launched(root: Path, each: leetcuda.Program) -> list[Judged]:
    kernels, torch = root / "kernels", HERE / "public" / "torch"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [str(kernels / file) for file in each.files]
        if each.edits:
            text = Path(files[0]).read_text(encoding="utf-8")
            for pattern, new in each.edits:
                text = re.sub(pattern, new, text)
            files[0] = str(folder / Path(files[0]).name)
            Path(files[0]).write_text(text, encoding="utf-8")
        if each.bind or each.launched:
            bound = folder / ("bind.cu" if each.launched else "bind.cpp")
            bound.write_text(leetcuda.binding(each, kernels))
            files = [str(bound)] if each.launched else [*files, str(bound)]
        order = leetcuda.written(each, folder)
        result = run_program({
            "files": [*files, str(torch / "calls.cpp")], "folder": name, "limit": 400, "runs": [[str(order)]],
            "include": [str(torch), mains.CUBLAS, *(str(kernels / path) for path in each.include)], "std": "c++17",
            "flags": ["--expt-relaxed-constexpr", "--expt-extended-lambda", "--use_fast_math", "-diag-suppress", "177"],
            "define": [*(["BOUND_ELSEWHERE"] if each.bind else []), "NO_MMA_HGEMM_BIN"],  # as its own build says
        })  # fmt: skip
        if result["stage"] == "build":
            return [Judged(root.name, each.name, "", "refused", _brief(result["error"]))]
        return list(_calls(root.name, each, result["runs"][0], folder))


def _calls(collection: str, program: leetcuda.Program, result: Result, folder: Path) -> Iterator[Judged]:
    """A verdict for each launcher: here a launcher launches one kernel, of its name."""
    said = dict(re.findall(r"^CALL (\d+) \S+: (.*)$", result["output"], re.MULTILINE))
    for number, call in enumerate(program.calls):
        ended = said.get(str(number), f"not reached: {_brief(result['output'][-300:])}")
        if ended != "ok":
            yield Judged(collection, program.name, call.name, "refused", f"{ended} {_brief(result['output'][-300:])}")
            continue
        wrong = leetcuda.compared(call, number, folder)
        yield Judged(collection, program.name, call.name, "wrong" if wrong else "right", wrong)


# -- Triton -----------------------------------------------------------------------------------------------------------
def tutorials(root: Path, only: list[str], done: _Done) -> Iterator[Judged]:
    """Triton's tutorials."""
    for name in triton_libraries.TUTORIALS:
        if any(word in name for word in only):
            yield from done.kept(
                f"{root.name}/{name}", lambda name=name: _named(root, name, triton_libraries.tutorial(root, name))
            )


def library(root: Path, only: list[str], done: _Done) -> Iterator[Judged]:
    """Liger's kernels, through its own tests (transformers must be there: PYTHONPATH may say where)."""
    for name in triton_libraries.LIGER:
        if any(word in name for word in only):
            yield from done.kept(
                f"{root.name}/{name}", lambda name=name: _named(root, name, triton_libraries.library(root, name))
            )


def _named(root: Path, program: str, found: Iterator[tuple[str, str, str]]) -> list[Judged]:
    """The last word on each kernel."""
    known: dict[str, Judged] = {}
    for kernel, verdict, reason in found:
        one = Judged(root.name, program, kernel, verdict, reason)
        known[kernel] = max(known.get(kernel, one), one, key=lambda each: ORDER.index(each.verdict))
    return list(known.values())


COLLECTIONS: dict[str, Callable[[Path, list[str], _Done], Iterator[Judged]]] = {
    "cuda-samples": whole_programs, "gpu-rodinia": whole_programs, "llm.c": whole_programs, "fast.cu": whole_programs,
    "LeetCUDA": launchers, "triton": tutorials, "Liger-Kernel": library,
}  # fmt: skip


RAN = ("right", "wrong", "refused", "unchecked")
"""The verdicts of kernels that could run here."""


def report(judged: list[Judged], left: list[str], started: dict[str, Any], *, publish: bool, note: str | None) -> None:
    """The table, each kernel that is not right with its reason, and all of it as JSON where it is published."""
    print(f"{len(left)} programs were not run")
    counts = {name: Counter(e.verdict for e in judged if e.collection == name) for name in COLLECTIONS}
    totals = Counter(e.verdict for e in judged)
    for name, each in {**counts, "all": totals}.items():
        ran = sum(each[verdict] for verdict in RAN)
        print(f"{name:14} {each['right']} of {ran} right;", ", ".join(f"{n} {v}" for v, n in sorted(each.items())))
    reasons = tomllib.loads((HERE / "public" / "reasons.toml").read_text(encoding="utf-8"))
    not_right = [
        {**asdict(e), **reasons.get(e.collection, {}).get(e.program, {}).get(e.kernel, {})}
        for e in judged
        if e.verdict not in ("right", "not run")
    ]
    for line in not_right:
        name = f"{line['collection']}/{line['program']} {line['kernel'][:80]}"
        print(f"{line['verdict']:10} {name}: {line.get('why') or line['reason'][:300]}")
    if publish:
        save("public_kernels", {
            "right": totals["right"], "of": sum(totals[verdict] for verdict in RAN), "totals": totals,
            "counts": counts, "not_right": not_right, "kernels": [asdict(each) for each in judged],
            "programs_not_run": left, "note": note,
        }, started=started)  # fmt: skip


if __name__ == "__main__":
    main()
