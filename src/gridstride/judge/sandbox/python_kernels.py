"""Triton and Numba submissions: their Python is run in a worker of its own, for nothing but the PTX it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gridstride.judge.header import Launch
from gridstride.judge.problem import Signature
from gridstride.judge.runnable import RefusedError
from gridstride.judge.sandbox import landlock, records, seccomp
from gridstride.judge.sandbox.client import StoppedError, Worker
from gridstride.judge.sandbox.limits import Limits
from gridstride.judge.sandbox.python_header import PythonFile, numba_types, triton_types
from gridstride.judge.sandbox.wire import Message
from gridstride.judge.verdict import Finding

_LONGEST = 32 << 20  # characters of PTX
_MORE_MEMORY = 2 << 30  # bytes for a compiler that is a large library itself


@dataclass(frozen=True, slots=True)
class Compiled:
    """The PTX of a kernel and how it is launched, as the worker says; to be trusted no more than the submission."""

    words: dict[str, Any]
    launch: Launch


def why_not() -> str:
    """Why this machine cannot run Python that nobody has looked at; empty where it can."""
    missing = [
        name for name, there in (("Landlock", landlock.version()), ("seccomp", seccomp.available())) if not there
    ]
    if not missing:
        return ""
    return (
        f"this system offers no {' and no '.join(missing)}, so a submission in Python could read files, open "
        "connections and start programs: it was not run. CUDA C++ is compiled without running any of it"
    )


def compile_python(file: PythonFile, signature: Signature, *, arch: str, limits: Limits) -> Compiled:
    """The kernel's PTX; RefusedError with the finding when there is none."""
    if reason := why_not():
        raise RefusedError(Finding("launch", reason))
    launch = file.kernel.launch
    if launch is None:
        raise RefusedError(Finding("launch", "no launch shape: open the file with a line `# grid: …`"))
    types = triton_types(signature) if file.language == "triton" else numba_types(signature)
    words = {"language": file.language, "source": file.kernel.source, "filename": file.kernel.filename,
             "entry": file.kernel.entry, "types": types, "constants": file.constants, "warps": file.warps,
             "arch": arch}  # fmt: skip
    more = replace(limits, memory=limits.memory + _MORE_MEMORY)
    try:
        with Worker(
            more, module="gridstride.judge.sandbox.python_worker", cache=False, language=file.language, arch=arch
        ) as worker:
            worker.wait_until_ready()
            if not (worker.locked["landlock"] and worker.locked["seccomp"]):
                raise RefusedError(Finding("launch", f"the worker could not lock itself in: {worker.locked}"))
            reply = worker.ask(Message(words), seconds=limits.compile_seconds, doing="compiling")
    except StoppedError as stopped:
        raise RefusedError(Finding("compile_error", f"stopped: {stopped.reason}")) from stopped
    try:
        return _compiled(reply.words, file, launch)
    except (TypeError, ValueError, KeyError) as error:
        raise RefusedError(Finding("compile_error", f"the worker's reply is not one: {error!r}")) from error


def _compiled(reply: Mapping[str, Any], file: PythonFile, launch: Launch) -> Compiled:
    if "refused" in reply:
        line = reply["line"]
        finding = Finding("compile_error", records.text(reply["refused"]), None if line is None else int(line))
        raise RefusedError(finding)
    threads, shared = int(reply["threads"]), int(reply["shared"])
    if file.language == "triton":
        launch = replace(launch, block=(str(threads),), shared=str(shared))
    words = {"ptx": str(reply["ptx"])[:_LONGEST], "entry": str(reply["entry"]), "hidden": min(int(reply["hidden"]), 16),
             "filename": file.kernel.filename, "language": file.language}  # fmt: skip
    return Compiled(words, launch)
