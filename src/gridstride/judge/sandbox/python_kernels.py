"""Triton and Numba submissions: their Python is run in a worker of its own, for nothing but the PTX it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gridstride.judge.execution.runnable import RefusedError
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Signature
from gridstride.judge.sandbox import checked_words, landlock, records, seccomp
from gridstride.judge.sandbox.client import StoppedError, Worker
from gridstride.judge.sandbox.limits import WorkerLimits
from gridstride.judge.sandbox.python_header import PythonFile, filled_in, no_launch, parameter_types
from gridstride.judge.sandbox.wire import Bounds, WireMessage
from gridstride.judge.verdict import Finding

_LONGEST = 32 << 20  # bytes of PTX
_MOST_THREADS, _MOST_SHARED = 1024, 1 << 20  # of a block; the launch says which chip has less
_MOST_HIDDEN = 16  # parameters that Triton adds
_MOST_PARAMETERS = 256
_LARGEST_CONSTANT = 1 << 31
_MORE_MEMORY = 2 << 30  # bytes for a compiler that is a large library itself


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """The PTX of a kernel and how it is launched, as the worker says; to be trusted no more than the submission."""

    words: dict[str, Any]
    launch: SymbolicLaunch
    notes: tuple[str, ...] = ()


def why_not() -> str:
    """Why this machine cannot run Python that nobody has looked at; empty where it can."""
    missing = [
        name
        for name, available in (("Landlock", landlock.version()), ("seccomp", seccomp.available()))
        if not available
    ]
    if not missing:
        return ""
    return (
        f"this system offers no {' and no '.join(missing)}, so a submission in Python could read files, open "
        "connections and start programs: it was not run. CUDA C++ is compiled without running any of it"
    )


def compile_python(file: PythonFile, signature: Signature, *, arch: str, limits: WorkerLimits) -> CompiledKernel:
    """The kernel's PTX; RefusedError with the finding when there is none."""
    if reason := why_not():
        raise RefusedError(Finding("launch", reason))
    launch = file.kernel.launch
    if launch is None:
        raise RefusedError(Finding("launch", no_launch(file, signature)))
    words = {"language": file.language, "source": file.kernel.source, "filename": file.kernel.filename,
             "entry": file.kernel.entry, "parameters": parameter_types(signature, file.language),
             "constants": file.constants, "warps": file.warps, "arguments": file.arguments,
             "arch": arch}  # fmt: skip
    more = replace(limits, memory=limits.memory + _MORE_MEMORY)
    try:
        with Worker(
            more, module="gridstride.judge.sandbox.python_worker", cache=False, language=file.language, arch=arch
        ) as worker:
            worker.wait_until_ready()
            if not (worker.locked["landlock"] and worker.locked["seccomp"]):
                raise RefusedError(Finding("launch", f"the worker could not lock itself in: {worker.locked}"))
            bounds = Bounds(buffers=1, nbytes=_LONGEST)
            reply = worker.ask(WireMessage(words), seconds=limits.compile_seconds, doing="compiling", bounds=bounds)
        return _compiled(reply, file, launch, signature)
    except StoppedError as stopped:
        raise RefusedError(Finding("compile_error", f"stopped: {stopped.reason}")) from stopped
    except checked_words.MalformedError as error:
        raise RefusedError(Finding("compile_error", f"the worker's reply is not one: {error}")) from error


def _compiled(reply: WireMessage, file: PythonFile, launch: SymbolicLaunch, signature: Signature) -> CompiledKernel:
    reply_words = reply.words
    if "refused" in reply_words:
        finding = {
            "kind": "compile_error",
            "message": reply_words["refused"],
            "line": reply_words.get("line"),
            "thread": None,
        }
        raise RefusedError(*records.findings_of([finding]))
    if len(reply.buffers) != 1 or not isinstance(reply_words.get("entry"), str):
        raise checked_words.MalformedError("no PTX and no entry")
    names = [p.name for p in signature.parameters]
    order, launch = _matched(reply_words, file, launch, names)
    if file.language == "triton":
        threads = checked_words.integer(reply_words.get("threads"), 1, _MOST_THREADS)
        launch = replace(
            launch, block=(str(threads),), shared=str(checked_words.integer(reply_words.get("shared"), 0, _MOST_SHARED))
        )
    words = {"ptx": reply.buffers[0].decode(errors="replace"), "entry": checked_words.text(reply_words["entry"], 1000),
             "hidden": checked_words.integer(reply_words.get("hidden"), 0, _MOST_HIDDEN), "order": order,
             "names": names, "filename": file.kernel.filename, "language": file.language}  # fmt: skip
    return CompiledKernel(words, launch, records.notes_of(reply_words.get("notes")))


@checked_words.strict
def _matched(
    words: Mapping[str, Any], file: PythonFile, launch: SymbolicLaunch, names: list[str]
) -> tuple[list[int | str], SymbolicLaunch]:
    """Where each parameter's value comes from, and the launch with the kernel's own names in it filled in."""
    order = [_argument(position, len(names), file.arguments) for position in words["order"][:_MOST_PARAMETERS]]
    constants = {
        str(name): checked_words.integer(value, -_LARGEST_CONSTANT, _LARGEST_CONSTANT)
        for name, value in words["constants"].items()
    }
    own = [str(name) for name in words["own"][:_MOST_PARAMETERS]]
    renamed = {name: names[position] for name, position in zip(own, order, strict=False) if isinstance(position, int)}
    return order, filled_in(launch, constants, renamed)


def _argument(position: Any, count: int, arguments: Mapping[str, str]) -> int | str:
    """The place of a problem's parameter, or one of the file's own expressions; MalformedError for anything else."""
    if isinstance(position, str):
        return arguments[position]
    return checked_words.integer(position, 0, count - 1)
