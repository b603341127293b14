"""`gridstride up` as a process, for tests that talk to it from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKER = b"gridstride.workbench.worker"


def start(folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    """The server's process."""
    environment = {**os.environ, "GRIDSTRIDE_COURSE": str(folder), **more}
    command = [sys.executable, "-m", "gridstride", "up", "--no-open", "--json", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                            start_new_session=True)  # fmt: skip


@contextmanager
def up(folder: Path, *words: str, **more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The server's URL and process; it is ended afterwards."""
    process = start(folder, "--port", "0", *words, **more)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield json.loads(line)["url"], process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def workers(folder: Path) -> list[int]:
    """The judges' processes of that folder's workbench."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"GRIDSTRIDE_COURSE={folder}".encode() in (process / "environ").read_bytes().split(b"\0")
            if mine and WORKER in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:  # it has ended, or is not ours to look at
            continue
    return found
