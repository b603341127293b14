"""A compiler at work on a stranger's source: what it may read and write, how long it may take.

The source is compiled, not run, but it can name any file (`#include`, `#embed`) and take time, memory and disk without
end. `CompilerRoom.execute` has the fork server start `become`, which locks its own process and becomes the compiler.
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.judge.sandbox import landlock
from gridstride.judge.sandbox.worker import die_with_parent
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.toolchain.wheels import INCLUDE, LIBRARY_HEADERS, Toolchain, environment, zig_cache

if TYPE_CHECKING:
    from gridstride.programs.process.fork_server import ForkServer

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/bin", "/usr/bin", "/etc/ld.so.cache",
           "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/urandom")  # fmt: skip
_MEMORY, _FILE = 4 << 30, 256 << 20  # bytes: of one process, of one file
_PROCESSOR = 120  # seconds of one process
_SAID = 256 << 10  # bytes of messages that are read


@dataclass(frozen=True, slots=True)
class CompilerRoom:
    """Compilers see themselves, `source`, what is in `read`, their cache and one temporary folder, and end after
    `seconds`. Several may be at work at once.
    """

    tools: Toolchain
    source: Path
    server: ForkServer
    read: tuple[Path, ...] = ()
    seconds: float = 120.0

    def execute(self, command: Sequence[str], folder: Path, more: Mapping[str, str]) -> tuple[int, str]:
        """Exit status and messages, with `more` in the environment; BuildFailed where it takes too long."""
        orders = {
            "command": list(command), "rules": list(self._rules(folder)), "cwd": os.getcwd(),
            "environment": environment() | {"TMPDIR": str(folder), **more},
        }  # fmt: skip
        with tempfile.TemporaryFile() as output:
            compiler = self.server.start("compiler", orders, stdout=output.fileno(), stderr=output.fileno())
            try:
                status = compiler.wait(self.seconds)
            finally:
                compiler.kill()
                compiler.close()
            if status is None:
                raise BuildFailed(f"stopped: compiling took more than {self.seconds:g} s", "")
            output.seek(0)
            return status, output.read(_SAID).decode(errors="replace")

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
            *self.read,
        ):
            yield str(path), landlock.READ_AND_RUN
        yield "/dev/null", landlock.READ_FILE | landlock.WRITE_FILE
        for path in (folder, zig_cache()):
            yield str(path), landlock.EVERYTHING & ~landlock.EXECUTE


def become(orders: Mapping[str, Any]) -> None:
    """Lock this process and be the compiler, which ends with the process that started it."""
    die_with_parent(orders["parent"])
    for what, most in (
        (resource.RLIMIT_DATA, _MEMORY),
        (resource.RLIMIT_CPU, _PROCESSOR),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    landlock.lock([(path, rights) for path, rights in orders["rules"]])
    os.execve(orders["command"][0], orders["command"], orders["environment"])
