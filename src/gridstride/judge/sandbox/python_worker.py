"""The worker that runs a Python submission, which may do what it likes there, for the PTX of its kernel.

Nothing of the problem but the types of the parameters is known here, and nothing but text comes back: the PTX is then
a submission like any other, for a worker in which no Python of the user's runs.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from typing import Any

from gridstride.judge.sandbox.limits import Limits
from gridstride.judge.sandbox.wire import Message, read
from gridstride.judge.sandbox.worker import die_with_parent, lock, say


def main() -> None:
    """Lock the room, say so, and answer one request."""
    given = json.loads(sys.argv[1])
    die_with_parent(given["parent"])
    replies = os.fdopen(given["replies"], "wb", buffering=0)
    _warm_up(given["language"], given["arch"])
    gc.freeze()
    gc.enable()
    say(replies, Message({"ready": lock(Limits(**given["limits"]), given["folders"])}))
    asked = read(os.fdopen(0, "rb", closefd=False).read)
    if asked is not None:
        say(replies, _answer(asked.words))


def _warm_up(language: str, arch: str) -> None:
    """Import the compiler before the room is locked; where it is missing, compiling says so."""
    try:
        if language == "triton":
            _without_ptxas(int("".join(filter(str.isdigit, arch))))
        else:
            import numba.cuda  # noqa: F401
    except ImportError:
        pass


def _without_ptxas(arch: int) -> None:
    """Triton asks ptxas, a program, for its version, and has it assemble the PTX: the one now, the other not at all."""
    import triton.compiler  # noqa: F401
    from triton.backends.nvidia import compiler

    compiler.get_ptxas_version(arch)  # Triton remembers the answer
    compiler.CUDABackend.make_cubin = lambda *_, **__: b""


def _answer(words: dict[str, Any]) -> Message:
    from gridstride.compiler import CompileError

    try:
        function = _function(words["source"], words["filename"], words["entry"])
        compiled = _triton(function, words) if words["language"] == "triton" else _numba(function, words)
    except CompileError as error:
        return _refused(str(error), error.line)
    except BaseException as error:  # of the submission's own code: it may raise whatever it likes
        return _refused(f"{type(error).__name__}: {error}", _line_of(error, _path(words["filename"])))
    return Message(compiled)


def _refused(said: str, line: int | None) -> Message:
    """What is wrong, by the submission's own name and not by where it lies in this room."""
    return Message({"refused": said.replace(_path(""), ""), "line": line})


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
    spec.loader.exec_module(module)
    function = getattr(module, entry, None)
    if function is None:
        raise LookupError(f"there is no function {entry} in the file")
    return function


def _triton(function: Any, words: dict[str, Any]) -> dict[str, Any]:
    from gridstride.compiler.triton import compile_triton, triton_function

    wanted = triton_function(function, signature=words["types"], constants=words["constants"], num_warps=words["warps"])
    code = compile_triton(wanted, arch=words["arch"])
    if code.scratch or code.boxes:
        raise ValueError("a kernel that needs scratch memory or tensor descriptors cannot be judged")
    return {"ptx": code.ptx, "entry": code.entry, "threads": code.threads, "shared": code.shared, "hidden": code.hidden}


def _numba(function: Any, words: dict[str, Any]) -> dict[str, Any]:
    from gridstride.compiler.numba import compile_numba, numba_function

    wanted = numba_function(function, words["types"])
    code = compile_numba(wanted, arch=words["arch"])
    if code.linked:
        raise ValueError("a kernel that is linked with other files cannot be judged")
    return {"ptx": code.ptx, "entry": wanted.name, "threads": 0, "shared": 0, "hidden": 0}


if __name__ == "__main__":
    main()
