"""The judge's side: starts a worker, talks to it, watches what it uses, and ends it when it goes too far."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gridstride.compiler.cache import cache_root
from gridstride.judge.sandbox import landlock
from gridstride.judge.sandbox.limits import Limits, use_of
from gridstride.judge.sandbox.wire import Message, Reader, WireError, packed

_POLL = 0.03  # seconds between two looks at what the worker uses
_START = 60.0  # seconds for a worker to start, on a machine with much else to do
_REPLY = 1 << 30  # bytes of one reply
_READ = 1 << 18
_LOOK = 0.3  # seconds between two looks at how much a worker wrote


class StoppedError(Exception):
    """The worker was ended, or ended itself. `why`: time, memory, threads, disk, crash, broken; `reason` in words."""

    def __init__(self, why: str, reason: str) -> None:
        super().__init__(reason)
        self.why, self.reason = why, reason


class Worker:
    """One process under limits, with a folder of its own; both are gone when it is closed."""

    def __init__(
        self, limits: Limits, *, module: str = "gridstride.judge.sandbox.worker", cache: bool = True, **given: Any
    ) -> None:
        self.limits = limits
        self.locked: dict[str, Any] = {}
        self._scratch = tempfile.mkdtemp(prefix="gridstride-")
        take, reply = os.pipe()
        self.given = dict(given)
        given |= {"parent": os.getpid(), "replies": reply, "limits": asdict(limits)}
        given["folders"] = _folders(self._scratch, cache=cache)
        # Imports make many objects and no rubbish: looking for it takes a third of a start. main() turns it on again.
        code = f"import gc, sys; gc.disable(); sys.path[:] = {sys.path!r}; from {module} import main; main()"
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code, json.dumps(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=_environment(self._scratch, cache=cache),
                cwd=self._scratch,
                pass_fds=(reply,),
                start_new_session=True,
            )
        except BaseException:
            os.close(take)
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        finally:
            os.close(reply)
        self._replies = take
        self._reader = Reader(_REPLY)
        self._printed = _Printed(self._process.stdout, limits.printed)
        self._closed = False
        self._look_again = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_ready(self) -> None:
        """Return once the worker has locked itself in; StoppedError where it did not come to that."""
        if not self.locked:
            self.locked = dict(self._received(_START, "starting").words["ready"])

    def ask(self, message: Message, *, seconds: float, doing: str) -> Message:
        """The reply; StoppedError with the reason where none came in time and within the limits."""
        self.wait_until_ready()
        self._send(packed(message), seconds, doing)
        return self._received(seconds, doing)

    def printed(self) -> str:
        """What came out since it was asked last."""
        return self._printed.taken()

    def close(self) -> None:
        """End the worker and all it started, and remove its folder. Nothing is left behind, whenever it is called."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        os.close(self._replies)
        self._printed.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _send(self, data: bytes, seconds: float, doing: str) -> None:
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        os.set_blocking(descriptor, False)
        view, deadline = memoryview(data), time.monotonic() + seconds
        while view:
            self._watch(deadline, seconds, doing)
            if not select.select([], [descriptor], [], _POLL)[1]:
                continue
            try:
                view = view[os.write(descriptor, view[:_READ]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._ended(doing)

    def _received(self, seconds: float, doing: str) -> Message:
        deadline = time.monotonic() + seconds
        while True:
            self._watch(deadline, seconds, doing)
            if not select.select([self._replies], [], [], _POLL)[0]:
                continue
            data = os.read(self._replies, _READ)
            if not data:
                self._ended(doing)
            try:
                message = self._reader.feed(data)
            except WireError as error:
                self._stop("broken", f"{doing}: the worker sent {error}")
            if message is not None:
                return message

    def _watch(self, deadline: float, seconds: float, doing: str) -> None:
        use = use_of(self._process.pid)
        if use is not None and use.memory > self.limits.memory:
            self._stop("memory", f"{doing} took more than {_size(self.limits.memory)} of memory")
        if use is not None and use.threads > self.limits.threads:
            self._stop("threads", f"{doing} started more than {self.limits.threads} threads")
        if time.monotonic() > self._look_again:
            used = _bytes_below(self._scratch)
            self._look_again = time.monotonic() + _LOOK
            if used > self.limits.scratch:
                self._stop("disk", f"{doing} wrote more than {_size(self.limits.scratch)} of files")
        if time.monotonic() > deadline:
            self._stop("time", f"{doing} had not ended after {seconds:g} s")

    def _stop(self, why: str, reason: str) -> None:
        self.close()
        raise StoppedError(why, reason)

    def _ended(self, doing: str) -> None:
        code = self._process.wait()
        said = self._printed.last_line()
        self.close()
        if code == -signal.SIGXCPU or code == -signal.SIGKILL:
            limit = f"{self.limits.processor_seconds} s of processor time or the machine's memory"
            raise StoppedError("time" if code == -signal.SIGXCPU else "memory", f"{doing} used up {limit}")
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        more = f": {said}" if said else ""
        raise StoppedError("crash", f"{doing} ended the process that it ran in ({name}{more})")


class _Printed:
    """What the worker prints, taken off its hands so that it never waits for a reader, and kept up to a bound."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._most = stream, most
        self._kept, self._lost = bytearray(), 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, name="gridstride-printed", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while data := self._stream.read1(_READ):
            with self._lock:
                room = max(0, self._most - len(self._kept))
                self._kept += data[:room]
                self._lost += len(data) - len(data[:room])

    def taken(self) -> str:
        with self._lock:
            text = self._kept.decode(errors="replace")
            text += f"\n… and {self._lost} bytes more\n" if self._lost else ""
            self._kept.clear()
            self._lost = 0
        return text

    def last_line(self) -> str:
        self._thread.join(1.0)
        with self._lock:
            lines = self._kept.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        self._thread.join(1.0)
        with contextlib.suppress(OSError):
            self._stream.close()


def _environment(scratch: str, *, cache: bool) -> dict[str, str]:
    """As little as will do: no path, no credentials, one thread for NumPy's own products."""
    keep = {name: os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH", "LANG", "LC_ALL") if name in os.environ}
    folder = str(cache_root().absolute()) if cache else f"{scratch}/cache"
    return {**keep, "HOME": scratch, "TMPDIR": scratch, "GRIDSTRIDE_CACHE": folder, "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1",
            "TRITON_CACHE_DIR": f"{scratch}/triton", "NUMBA_CACHE_DIR": f"{scratch}/numba"}  # fmt: skip


_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache",
           "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/urandom")  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero")


def _folders(scratch: str, *, cache: bool) -> list[tuple[str, int]]:
    """What a worker may see of the file system, each with what it may do there."""
    from gridstride.compiler.headers import find_headers

    packages = {str(Path(each).absolute()) for each in sys.path if each}
    read = [*packages, sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2]), *_SYSTEM]
    read += map(str, find_headers().roots)
    folders = [(path, landlock.READ_AND_RUN) for path in dict.fromkeys(read) if not _too_much(path)]
    folders += [(path, landlock.READ_FILE | landlock.WRITE_FILE) for path in _DEVICES]
    folders.append((scratch, landlock.EVERYTHING & ~landlock.EXECUTE))
    if cache:
        root = cache_root().absolute()
        with contextlib.suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
        folders.append((str(root), landlock.EVERYTHING & ~landlock.EXECUTE))
    return folders


def _too_much(path: str) -> bool:
    """A Python that is the system's own has /usr as its prefix: what is needed below it is in the list by itself."""
    return Path(path).resolve() in {
        Path(each) for each in ("/", "/usr", "/home", "/root", "/etc", "/tmp", "/usr/local")
    }


def _bytes_below(folder: str) -> int:
    """Bytes of all files in a folder, however deep; files that go meanwhile count as nothing."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def _size(nbytes: int) -> str:
    return f"{nbytes / 2**30:g} GiB" if nbytes >= 1 << 30 else f"{nbytes / 2**20:g} MiB"
