"""The process that is to be a program's, begun while the command that names it is still read.

Python and the virtual GPU take as long to load as all that the command does before it: on two processors the one hides
behind the other. What is begun and never told of a program ends with whoever began it. Imported before all else by the
command line: nothing heavy.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

WAITS = "--waits"
"""The word that the process is begun with, before the number of its channel."""
_RUNS_NONE = ("--help", "--ptx", "physical", "--device=physical")
"""Words of a command that needs no such process."""


@dataclass(frozen=True, slots=True)
class EarlyProcess:
    """It reads one message from `channel`: what child.py is told of a program, and the descriptors of that."""

    child: subprocess.Popen[bytes]
    channel: socket.socket

    def become(self, order: bytes, descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
        """OSError where it has ended."""
        with self.channel:
            socket.send_fds(self.channel, [len(order).to_bytes(8, "little")], descriptors)
            self.channel.sendall(order)
        return self.child


_begun: EarlyProcess | None = None


def begin(words: Sequence[str]) -> None:
    """If a command of these words is going to run a program, and there is a processor to spare."""
    global _begun
    if sys.platform == "linux" and _runs_a_program(words) and len(os.sched_getaffinity(0)) > 1:
        with contextlib.suppress(OSError):  # no process or descriptor is left: whoever needs one says so
            _begun = _started()


def _started() -> EarlyProcess:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-m", "gridstride.programs.process.child", WAITS, str(theirs.fileno())]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until it can end by Ctrl-C without a word
    try:
        with theirs:
            child = subprocess.Popen(command, pass_fds=(theirs.fileno(),))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return EarlyProcess(child, ours)


def take() -> EarlyProcess | None:
    """The one that was begun, for one program; None where there is none, or it has ended since."""
    global _begun
    process, _begun = _begun, None
    return process if process is not None and process.child.poll() is None else None


def _runs_a_program(words: Sequence[str]) -> bool:
    """Python programs have an interpreter of their own."""
    command = words[: list(words).index("--")] if "--" in words else words
    return command[:1] == ["run"] and not any(word in _RUNS_NONE or word.endswith(".py") for word in command[1:])


def received(channel: int) -> tuple[bytes, list[int]]:
    """In the process: what it is told, and the descriptors; it ends here where nobody tells it anything."""
    with socket.socket(fileno=channel) as waiting:
        head, descriptors, _, _ = socket.recv_fds(waiting, 8, 8)
        if not head:
            os._exit(0)
        with waiting.makefile("rb") as file:
            return file.read(int.from_bytes(head, "little")), descriptors
