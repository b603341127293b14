"""A compiler at work on a stranger's source: what it may read and write, how long it may take.

The source is compiled, not run, but it can name any file (`#include`, `#embed`) and take time, memory and disk without
end. `CompilerRoom.execute` starts `main`, which locks its own process and becomes the compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.judge.sandbox import landlock
from gridstride.programs.errors import BuildFailed
from gridstride.programs.toolchain import INCLUDE, LIBRARY_HEADERS, Toolchain, environment, zig_cache

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/bin", "/usr/bin", "/etc/ld.so.cache",
           "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/urandom")  # fmt: skip
_MEMORY, _FILE = 4 << 30, 256 << 20  # bytes: of one process, of one file
_PROCESSOR = 120  # seconds of one process
_SAID = 256 << 10  # bytes of messages that are read


@dataclass(frozen=True, slots=True)
class CompilerRoom:
    """Compilers see themselves, `source`, their cache and one temporary folder, and end after `seconds`."""

    tools: Toolchain
    source: Path
    seconds: float = 120.0

    def execute(self, command: Sequence[str], folder: Path) -> tuple[int, str]:
        """Exit status and messages; BuildFailed where it takes too long."""
        given = {"command": list(command), "rules": list(self._rules(folder))}
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        said = folder / "said"
        with said.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", code, json.dumps(given)], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment() | {"TMPDIR": str(folder)}, start_new_session=True,
            )  # fmt: skip
            try:
                status = process.wait(self.seconds)
            except subprocess.TimeoutExpired:
                raise BuildFailed(f"stopped: compiling took more than {self.seconds:g} s", "") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        with said.open("rb") as messages:
            return status, messages.read(_SAID).decode(errors="replace")

    def _rules(self, folder: Path) -> Iterator[tuple[str, int]]:
        tools = self.tools
        for path in (
            *_SYSTEM,
            tools.cuda,
            tools.zig.parent,
            INCLUDE,
            LIBRARY_HEADERS,
            tools.host_compiler.parent,
            self.source,
        ):
            yield str(path), landlock.READ_AND_RUN
        yield "/dev/null", landlock.READ_FILE | landlock.WRITE_FILE
        for path in (folder, zig_cache()):
            yield str(path), landlock.EVERYTHING & ~landlock.EXECUTE


def main() -> None:
    """Lock this process and become the compiler."""
    given = json.loads(sys.argv[1])
    for what, most in (
        (resource.RLIMIT_DATA, _MEMORY),
        (resource.RLIMIT_CPU, _PROCESSOR),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    landlock.lock([(path, rights) for path, rights in given["rules"]])
    os.execv(given["command"][0], given["command"])
