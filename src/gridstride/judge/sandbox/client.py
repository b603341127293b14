"""The judge's side: starts a worker, talks to it, watches what it uses, and ends it when it goes too far.

Every wait here has an end, whatever the worker does: no descriptor is ever blocked on, and between two steps the clock
is looked at.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any, NoReturn

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.compiler.cuda.cuda_compilers import VARIABLE
from gridstride.judge.sandbox import scratch
from gridstride.judge.sandbox.limits import WorkerLimits, cramped, seconds_without_processor, use_of
from gridstride.judge.sandbox.printed import WorkerOutput
from gridstride.judge.sandbox.visible import environment, folders
from gridstride.judge.sandbox.wire import Bounds, MessageReader, WireError, WireMessage, packed
from gridstride.plain import plain

_POLL = 0.03  # seconds between two looks at what the worker uses, at most
_USE = 0.01  # and at least
_START = 60.0  # seconds for a worker to start, on a machine with much else to do
_END = 1.0  # seconds between a worker's last word and its end
_GONE = 5.0  # seconds for a process that was killed to go: one that waits for a disk cannot
_READ = 1 << 18
_LONGEST_LINE = 400  # characters of a worker's last words
_STARVED = 4  # times its seconds that a worker may have been ready and without a processor
_LOOK = 0.3  # seconds between two looks at how much a worker wrote


class StoppedError(Exception):
    """The worker was ended, or ended itself. `why`: time, memory, threads, disk, crash, broken; `reason` in words."""

    def __init__(self, why: str, reason: str) -> None:
        super().__init__(reason)
        self.why, self.reason = why, reason


class CannotJudge(Exception):
    """This machine, or a limit of the user's, is in the way: there is no verdict, and the kernel is not to blame."""


class Worker(ClosedAtEnd):
    """One process under limits, with a folder of its own; both are gone when it is closed.

    `given` goes to the worker. Two of its names are for tests: `landlock`, the newest version of Landlock that is made
    use of, and `namespace`, whether one of mounts is asked for.
    """

    def __init__(
        self,
        limits: WorkerLimits,
        *,
        module: str = "gridstride.judge.sandbox.worker",
        cache: bool = True,
        **options: Any,
    ) -> None:
        self.limits = limits
        self.locked: dict[str, Any] = {}
        self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="gridstride-"))
        take, reply = os.pipe()
        self.options = dict(options)
        options |= {
            "compiler": os.environ.get(VARIABLE) or "nvrtc",
            "parent": os.getpid(),
            "replies": reply,
            "limits": asdict(limits),
            "scratch": self._scratch,
        }
        # Imports make many objects and no rubbish: looking for it takes a third of a start. main() turns it on again.
        code = f"import gc, sys; gc.disable(); sys.path[:] = {sys.path!r}; from {module} import main; main()"
        try:
            options["folders"] = folders(self._scratch, cache=cache)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code, json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment(self._scratch, cache=cache),
                cwd=self._scratch,
                pass_fds=(reply,),
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(take)
            scratch.remove(self._scratch)
            raise
        finally:
            os.close(reply)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin.fileno(), take
        self._printed = WorkerOutput(self._process.stdout.fileno(), limits.printed)
        for descriptor in (self._requests, self._replies):
            os.set_blocking(descriptor, False)
        self._closed = False
        self._look_again = self._use_again = 0.0
        self._without_before = 0.0

    def wait_until_ready(self) -> None:
        """Return once the worker has locked itself in; CannotJudge where it did not come to that."""
        if not self.locked:
            try:
                self.locked = dict(self._received(_START, "starting", Bounds()).words.get("ready") or {})
                if not self.locked:
                    self._stop("broken", "starting: the worker sent something else than that it is ready")
            except StoppedError as stopped:
                raise CannotJudge(self._unable_to_start(stopped.reason)) from stopped

    def _unable_to_start(self, reason: str) -> str:
        """Why no worker starts. A library that does not fit into the addresses says that it was not found."""
        limit = cramped(self.limits)
        if limit and "shared object" in reason:
            return f"no kernel can be run: the compiler's libraries do not fit into the addresses: {limit}"
        return self.blamed_on_limit(f"no kernel can be run: {reason}")

    def blamed_on_limit(self, reason: str) -> str:
        """What went wrong, with the limit of the user's own that may be behind it, where there is one."""
        limit = cramped(self.limits)
        return f"{reason}. Too few addresses? {limit[0].upper()}{limit[1:]}" if limit else reason

    def ask(self, message: WireMessage, *, seconds: float, doing: str, bounds: Bounds | None = None) -> WireMessage:
        """The reply; StoppedError with the reason where none came in time and within the limits and bounds, CannotJudge
        where a limit of the user's is in the way.
        """
        self.wait_until_ready()
        try:
            if self._readable(self._replies, 0):
                self._stop_early(doing)
            deadline = time.monotonic() + seconds
            self._without_before = seconds_without_processor(self._process.pid)
            self._send(packed(message), deadline, seconds, doing)
            return self._received(seconds, doing, bounds or Bounds())
        except StoppedError as stopped:
            if stopped.why == "crash" and cramped(self.limits):
                raise CannotJudge(self.blamed_on_limit(stopped.reason)) from stopped
            raise

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
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        os.close(self._replies)
        scratch.remove(self._scratch)

    def _send(self, data: bytes, deadline: float, seconds: float, doing: str) -> None:
        view = memoryview(data)
        while view:
            self._watch(deadline, seconds, doing)
            self._printed.take()
            if not self._writable(self._requests):
                continue
            try:
                view = view[os.write(self._requests, view[:_READ]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._ended(doing)

    def _received(self, seconds: float, doing: str, bounds: Bounds) -> WireMessage:
        deadline = time.monotonic() + seconds
        reader = MessageReader(bounds)
        while True:
            self._watch(deadline, seconds, doing)
            self._printed.take()
            if not self._readable(self._replies, _POLL, *self._printed.descriptors):
                continue
            try:
                data = os.read(self._replies, _READ)
            except BlockingIOError:
                continue
            if not data:
                self._ended(doing)
            try:
                message = reader.feed(data)
            except WireError as error:
                self._stop("broken", f"{doing}: the worker sent {error}")
            if message is not None:
                self._printed.take()
                return message

    def _readable(self, descriptor: int, seconds: float, *other_descriptors: int) -> bool:
        """Whether there is something to read; waits for it, or for any of the others, `seconds` at most."""
        return descriptor in _ready(select.POLLIN, seconds, descriptor, *other_descriptors)

    def _writable(self, descriptor: int) -> bool:
        return descriptor in _ready(select.POLLOUT, _POLL, descriptor)

    def _watch(self, deadline: float, seconds: float, doing: str) -> None:
        now = time.monotonic()
        if now > self._use_again:
            self._check_use(doing)
            self._use_again = now + _USE
        if now > self._look_again:
            self._check_files(doing)
            self._look_again = now + _LOOK
        if now > deadline and now > deadline + self._starved(seconds):
            self._stop("time", f"{doing} had not ended after {seconds:g} s")

    def _check_use(self, doing: str) -> None:
        use = use_of(self._process.pid)
        if use is not None and use.memory > self.limits.memory:
            self._stop("memory", f"{doing} took more than {_size(self.limits.memory)} of memory")
        if use is not None and use.threads > self.limits.threads:
            self._stop("threads", f"{doing} started more than {self.limits.threads} threads")
        if use is not None and use.headless:
            self._stop("crash", f"{doing} ended its main thread and went on in others")

    def _starved(self, seconds: float) -> float:
        """What a busy machine has kept from the worker since it was asked: its time goes on so much longer."""
        without = seconds_without_processor(self._process.pid) - self._without_before
        return min(without, _STARVED * seconds)

    def _check_files(self, doing: str) -> None:
        try:
            used = scratch.bytes_below(self._scratch)
        except scratch.TooMuchError as error:
            self._stop("disk", f"{doing} made {error}")
        if used > self.limits.scratch:
            self._stop("disk", f"{doing} wrote more than {_size(self.limits.scratch)} of files")

    def _stop(self, why: str, reason: str) -> NoReturn:
        self.close()
        raise StoppedError(why, reason)

    def _stop_early(self, doing: str) -> NoReturn:
        """It has closed its end, or spoke without being asked."""
        try:
            data = os.read(self._replies, 1)
        except BlockingIOError:
            data = b""
        if not data:
            self._ended(doing)
        self._stop("broken", f"{doing}: the worker sent a reply that nobody asked for")

    def _ended(self, doing: str) -> NoReturn:
        """The reply's pipe is closed, as it is when a process ends."""
        try:
            code = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._stop("broken", f"{doing}: the worker closed the pipe for its reply and went on")
        self._printed.take()
        line = plain(self._printed.last_line()[:_LONGEST_LINE])
        self.close()
        if code == -signal.SIGXCPU or code == -signal.SIGKILL:
            limit = f"{self.limits.processor_seconds} s of processor time or the machine's memory"
            raise StoppedError("time" if code == -signal.SIGXCPU else "memory", f"{doing} used up {limit}")
        name = _signal_name(-code) if code < 0 else f"exit status {code}"
        more = f": {line}" if line else ""
        raise StoppedError("crash", f"{doing} ended the process that it ran in ({name}{more})")


def _ready(event: int, seconds: float, *descriptors: int) -> list[int]:
    """Those on which something has happened; `select` knows no descriptors above 1023."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return [descriptor for descriptor, _ in poll.poll(1000 * seconds)]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has a number only
        return f"signal {number}"


def _size(nbytes: int) -> str:
    return f"{nbytes / 2**30:g} GiB" if nbytes >= 1 << 30 else f"{nbytes / 2**20:g} MiB"
