"""The worker that runs a Python submission, which may do what it likes there, for the PTX of its kernel.

Nothing of the problem but the types of the parameters is known here, and nothing but text comes back: the PTX is then
a submission like any other, for a worker in which no Python of the user's runs.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from gridstride.judge.parameter_names import ProblemParameter, match
from gridstride.judge.sandbox.absent import leave_out_what_needs_a_gpu
from gridstride.judge.sandbox.wire import WireMessage, read
from gridstride.judge.sandbox.worker import die_with_parent, lock, say


def main() -> None:
    """Lock the room, say so, and answer one request."""
    options = json.loads(sys.argv[1])
    die_with_parent(options["parent"])
    replies = os.fdopen(options["replies"], "wb", buffering=0)
    _warm_up(options["language"], options["arch"])
    gc.freeze()
    gc.enable()
    say(replies, WireMessage({"ready": lock(options)}))
    request = read(os.fdopen(0, "rb", closefd=False).read)
    if request is not None:
        say(replies, _answer(request.words))


def _warm_up(language: str, arch: str) -> None:
    """Import the compiler before the room is locked; where it is missing, compiling says so."""
    try:
        if language == "triton":
            _without_ptxas(int("".join(filter(str.isdigit, arch))))
        else:
            _load_numba()
        leave_out_what_needs_a_gpu(language)
    except ImportError:
        pass


def _load_numba() -> None:
    """Numba looks for its libraries when it first compiles, and asks a program where they lie outside the
    environment; where there are none, compiling says so."""
    import numba.cuda  # noqa: F401
    from cuda.bindings import nvrtc
    from numba.cuda.cudadrv import nvvm

    with suppress(Exception):  # of three packages, each with kinds of its own
        nvvm.NVVM()
        nvvm.LibDevice._cache_ = nvvm.LibDevice().get()  # a file, which else is read anew for each kernel
        nvrtc.nvrtcVersion()


def _without_ptxas(arch: int) -> None:
    """Triton asks ptxas, a program, for its version, and has it assemble the PTX: the one now, the other not at all."""
    import triton.compiler  # noqa: F401
    from triton.backends.nvidia import compiler

    compiler.get_ptxas_version(arch)  # Triton remembers the answer
    compiler.CUDABackend.make_cubin = lambda *_, **__: b""
    _without_renames()


def _without_renames() -> None:
    """Triton writes a file aside and renames it; in this room a file keeps the name that it was made with."""
    from triton import knobs
    from triton.runtime.cache import FileCacheManager

    class Direct(FileCacheManager):  # type: ignore[misc]
        def put(self, data: Any, filename: str, binary: bool = True) -> str:
            path: str = self._make_path(filename)
            with open(path, "wb") as file:
                file.write(data if isinstance(data, bytes) else str(data).encode())
            return path

    knobs.cache.manager_class = Direct


def _answer(words: dict[str, Any]) -> WireMessage:
    from gridstride.compiler import CompileError

    try:
        function = _function(words["source"], words["filename"], words["entry"])
        ptx, compiled = _triton(function, words) if words["language"] == "triton" else _numba(function, words)
    except CompileError as error:
        return _refused(str(error), error.line)
    except BaseException as error:  # of the submission's own code: it may raise whatever it likes
        return _refused(f"{type(error).__name__}: {error}", _line_of(error, _path(words["filename"])))
    return WireMessage(compiled, [ptx.encode()])


def _refused(message: str, line: int | None) -> WireMessage:
    """What is wrong, by the submission's own name and not by where it lies in this room."""
    return WireMessage({"refused": message.replace(_path(""), ""), "line": line})


def _line_of(error: BaseException, path: str) -> int | None:
    """The line of the submission that raised, or that Python could not read."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno
    at, line = error.__traceback__, None
    while at is not None:
        line = at.tb_lineno if at.tb_frame.f_code.co_filename == path else line
        at = at.tb_next
    return line


def _path(filename: str) -> str:
    return os.path.join(os.environ["TMPDIR"], os.path.basename(filename))


def _function(source: str, filename: str, entry: str) -> Any:
    """Run the submission as a module, and take the function from it."""
    path = _path(filename)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location("submission", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    with _without_a_driver(source):
        spec.loader.exec_module(module)
    function = getattr(module, entry, None)
    if function is None:
        raise LookupError(f"there is no function {entry} in the file")
    return function


def _without_a_driver(source: str) -> AbstractContextManager[None]:
    if not re.search(r"\bnumba\b", source):
        return nullcontext()
    from gridstride.compiler.python.numba import signatures_put_off

    return signatures_put_off()


def _triton(function: Any, words: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    from gridstride.compiler.python.triton import compile_triton, triton_function
    from gridstride.compiler.python.triton_other import undefined_where_masked
    from gridstride.compiler.python.triton_tuned import tuned

    chosen = tuned(function, words["constants"], words["warps"])
    jit, constants = chosen.function, dict(chosen.constants)
    own = [p.name for p in jit.params if not p.is_constexpr and p.name not in constants]
    _check_constants(words["entry"], jit, constants)
    matched, order, notes = _matched(words, own)
    spelled = dict(zip(own, matched, strict=True))
    typed = triton_function(
        jit, signature=spelled, constants=constants, num_warps=chosen.num_warps, num_stages=chosen.num_stages
    )
    code = compile_triton(typed, arch=words["arch"])
    if code.scratch or code.boxes:
        raise ValueError("a kernel that needs scratch memory or tensor descriptors cannot be judged")
    numbers = {name: int(value) for name, value in typed.constants.items() if isinstance(value, int)}
    ptx = undefined_where_masked(code.ptx, code.without_other)
    return ptx, {"entry": code.entry, "threads": code.threads, "shared": code.shared,
            "hidden": code.hidden, "order": order, "own": own, "constants": numbers,
            "notes": [*chosen.notes, *notes]}  # fmt: skip


def _check_constants(entry: str, jit: Any, constants: dict[str, Any]) -> None:
    """ValueError with the line to write for what is compiled in and given nowhere."""
    names = [p.name for p in jit.params]
    for name in constants:
        if name not in names:
            raise ValueError(f"{entry} has no parameter {name}, which `# constants:` gives; it has {', '.join(names)}")
    lacking = [p.name for p in jit.params if p.is_constexpr and not p.has_default and p.name not in constants]
    if lacking:
        line = " ".join(f"{name}={_usual(name)}" for name in lacking)
        raise ValueError(
            f"{entry}: {', '.join(lacking)} is a tl.constexpr and given nowhere: write a line `# constants: {line}`"
        )


def _usual(name: str) -> str:
    return "1024" if "BLOCK" in name.upper() and not name.upper().endswith(("_M", "_N", "_K")) else "32"


def _numba(function: Any, words: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    from gridstride.compiler.python.numba import compile_numba, numba_function

    code_of = getattr(function, "py_func", function).__code__
    own = list(code_of.co_varnames[: code_of.co_argcount])
    matched, order, notes = _matched(words, own)
    typed = numba_function(function, f"void({', '.join(matched)})")
    code = compile_numba(typed, arch=words["arch"])
    if code.linked:
        raise ValueError("a kernel that is linked with other files cannot be judged")
    return code.ptx, {"entry": typed.name, "threads": 0, "shared": 0, "hidden": 0, "order": order, "own": own,
            "constants": {}, "notes": notes}  # fmt: skip


def _matched(words: dict[str, Any], own: list[str]) -> tuple[list[str], list[int | str], list[str]]:
    """For each parameter of the kernel its type, and where its value comes from: a place among the problem's, or the
    name of one that the file gives itself.
    """
    texts, entry = words["arguments"], words["entry"]
    for name in texts:
        if name not in own:
            raise ValueError(f"{entry} has no parameter {name}, which `# arguments:` gives; it has {', '.join(own)}")
    matched = match(
        entry, [name for name in own if name not in texts], [ProblemParameter(*p[:2]) for p in words["parameters"]]
    )
    positions = iter(matched.order)
    order: list[int | str] = [name if name in texts else next(positions) for name in own]
    number = "i32" if words["language"] == "triton" else "int32"
    types = [number if isinstance(position, str) else words["parameters"][position][2] for position in order]
    return types, order, [matched.note] if matched.note else []


if __name__ == "__main__":
    main()
