"""A submission compiled by clang. A worker starts no programs, so clang runs before it, locked in a process of its own.

`compiled_by_clang` is the judge's side; `main` locks its own process, which then becomes clang.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from gridstride.compiler import CompileError, NoCompiler, compile_cuda
from gridstride.compiler.clang.clang_compile import clang_identity, compile_with_clang
from gridstride.compiler.clang.clang_program import find_clang
from gridstride.compiler.clang.clang_run import run_program
from gridstride.compiler.clang.cuda_folder import BARE, REPLACEMENTS, cuda_folder
from gridstride.compiler.cuda.cuda_compilers import CudaCompiler, checked_compiler
from gridstride.compiler.cuda.ptx_cache import encoded
from gridstride.compiler.headers import find_headers, libdevice
from gridstride.judge.execution.runnable import RefusedError, refusal_of
from gridstride.judge.header import KernelFile
from gridstride.judge.sandbox import landlock
from gridstride.judge.sandbox.client import CannotJudge
from gridstride.judge.sandbox.limits import WorkerLimits, restrict
from gridstride.judge.sandbox.worker import die_with_parent
from gridstride.judge.verdict import Finding

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/include", "/usr/bin", "/bin", "/lib", "/lib64",
           "/etc/ld.so.cache", "/etc/alternatives", "/dev/urandom")  # fmt: skip


def compiled_by_clang(file: KernelFile, arch: str, limits: WorkerLimits) -> bytes | None:
    """What `records.compiled_of` reads in the worker; None where NVRTC is the compiler, which works there.

    RefusedError for a source that does not compile, CannotJudge where there is no clang.
    """
    try:
        if checked_compiler() != "clang":
            return None
        run = partial(_run_confined, limits)
        clang = CudaCompiler("clang", clang_identity, partial(compile_with_clang, run=run))
        names = (file.entry,) if file.entry and "<" in file.entry else ()
        return encoded(compile_cuda(file.source, names=names, arch=arch, filename=file.filename, compiler=clang))
    except CompileError as error:
        raise refusal_of(error) from error
    except NoCompiler as error:
        raise CannotJudge(str(error)) from error
    except ValueError as error:
        raise RefusedError(Finding("launch", str(error))) from error


def _run_confined(limits: WorkerLimits, command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit status and messages of clang, which sees itself, headers and the folder above `folder`, where it writes."""
    request = json.dumps({"command": list(command), "rules": list(_rules(folder.parent)), "parent": os.getpid(),
                        "limits": asdict(limits)})  # fmt: skip
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
    return run_program([sys.executable, "-I", "-c", code, request], folder)


def _rules(folder: Path) -> Iterator[tuple[str, int]]:
    program = Path(os.path.realpath(find_clang().path))
    libraries = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    prefix = program.parents[1] if len(program.parents) > 3 else program.parent  # never / or a folder right below it
    read = [*_SYSTEM, str(prefix), *libraries, str(cuda_folder().path or BARE), str(REPLACEMENTS)]
    read += map(str, find_headers().roots)
    if (device := libdevice()) is not None:
        read.append(str(device))
    yield from ((path, landlock.READ_AND_RUN) for path in read if os.path.exists(path))
    yield "/dev/null", landlock.READ_FILE | landlock.WRITE_FILE
    yield str(folder), landlock.EVERYTHING & ~landlock.EXECUTE


def main() -> None:
    """Lock this process and become clang."""
    request = json.loads(sys.argv[1])
    die_with_parent(request["parent"])
    restrict(WorkerLimits(**request["limits"]))
    landlock.lock([(path, rights) for path, rights in request["rules"]])
    os.execv(request["command"][0], request["command"])
