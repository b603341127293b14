"""The fork server's process: it waits for requests, and each copy of it becomes one program or one compiler.

It has one thread, no descriptor but its own, and reads nothing of what its copies do but their exit status.
"""

from __future__ import annotations

import array
import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from gridstride.programs.process import confined_child
from gridstride.programs.process.child import CANNOT_START
from gridstride.programs.process.fork_server import FIRST, LONGEST, STATUS
from gridstride.programs.toolchain import compiler_room

_MOST = 8  # descriptors of a request
_BECOMES = {"program": confined_child.become, "compiler": compiler_room.become}


def main() -> None:
    """Serve until the judge hangs up; the system ends the copies then."""
    faulthandler.disable()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has been killed
        _Server(socket.socket(fileno=int(sys.argv[1]))).serve()


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._request = bytearray(LONGEST)
        self._copies: dict[int, tuple[int, int]] = {}  # descriptor of its process: its number, and who is told
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._control.fileno():
                    self._reap(descriptor)
                elif not self._serve_one():
                    return

    def _serve_one(self) -> bool:
        length, descriptors = self._received()
        kind = bytes(self._request[: self._request.find(b" ")]).decode()
        if kind in ("warm", "program"):
            self._warm_up()
        if descriptors:
            self._start(kind, length, descriptors)
        self._request[:length] = bytes(length)  # what one copy is told, no other finds in its memory
        return bool(length)

    def _received(self) -> tuple[int, list[int]]:
        length, more, _, _ = self._control.recvmsg_into([self._request], socket.CMSG_SPACE(4 * _MOST))
        numbers = array.array("i")
        for _, _, data in more:
            numbers.frombytes(data)
        return length, list(numbers)

    def _warm_up(self) -> None:
        if not confined_child.is_warm():
            confined_child.warm_up()
            gc.collect()
            gc.freeze()

    def _start(self, kind: str, length: int, descriptors: Sequence[int]) -> None:
        tells, *passed_descriptors = descriptors
        own, server = _open_descriptors(), os.getpid()
        pid = os.fork()
        if not pid:
            _become(kind, self._request[len(kind) + 1 : length], server, passed_descriptors, own)
        process = os.pidfd_open(pid)
        for descriptor in passed_descriptors:
            os.close(descriptor)
        self._copies[process] = pid, tells
        self._poll.register(process, select.POLLIN)
        socket.send_fds(self._control, [str(pid).encode()], [process])

    def _reap(self, process: int) -> None:
        """What has ended is told, after what it had started was ended too: until then its number is nobody else's."""
        pid, tells = self._copies.pop(process)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):
            os.write(tells, os.waitstatus_to_exitcode(status).to_bytes(STATUS, "little", signed=True))
        self._poll.unregister(process)
        os.close(process)
        os.close(tells)


def _open_descriptors() -> list[int]:
    descriptors = []
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # that of the folder itself
            os.fstat(number)
            descriptors.append(number)
    return descriptors


def _become(kind: str, words: bytearray, server: int, descriptors: Sequence[int], servers: Sequence[int]) -> NoReturn:
    """In the copy: be what is asked for, and never a second server."""
    try:
        orders = json.loads(words)
        os.setsid()
        _keep(descriptors, servers)
        os.environ.clear()
        os.environ.update(orders["environment"])
        os.chdir(orders["cwd"])
        _BECOMES[kind]({**orders, "parent": server})
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(CANNOT_START)


def _keep(descriptors: Sequence[int], servers: Sequence[int]) -> None:
    """Close the server's own, and have these as standard output, standard error, and from FIRST on. What this copy has
    opened since, for itself, stays open.
    """
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, descriptor in zip((1, 2, *range(FIRST, FIRST + _MOST)), descriptors, strict=False):
        os.dup2(descriptor, target)
    for descriptor in servers:
        if descriptor > 2:
            os.close(descriptor)
