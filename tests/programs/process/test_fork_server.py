"""The fork server: what its copies become, how their end is told, and what they have of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridstride.judge.sandbox import landlock
from gridstride.judge.sandbox.client import CannotJudge
from gridstride.programs.process.fork_server import Child, ForkServer

SHELL = [(path, landlock.READ_AND_RUN) for path in ("/bin", "/usr", "/lib", "/lib64", "/proc", "/etc/ld.so.cache")]
SHELL.append(("/dev/null", landlock.READ_FILE))  # which a shell opens for what it starts in the background


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    opened = ForkServer(str(tmp_path))
    yield opened
    opened.close()


def shell(server: ForkServer, text: str, output: Any) -> Child:
    """A copy that becomes a shell, and writes to a file."""
    rules = [rule for rule in SHELL if os.path.exists(rule[0])]
    given = {"command": ["/bin/sh", "-c", text], "rules": rules, "cwd": "/", "environment": {"PATH": "/bin:/usr/bin"}}
    return server.start("compiler", given, stdout=output.fileno(), stderr=output.fileno())


def written(output: Any) -> str:
    output.seek(0)
    return str(output.read().decode())


def test_a_copy_becomes_what_it_is_told_and_its_exit_status_comes_back(server: ForkServer) -> None:
    with tempfile.TemporaryFile() as output:
        first, second = shell(server, "echo out; echo err >&2; exit 3", output), shell(server, "kill -9 $$", output)
        assert (first.wait(30), second.wait(30)) == (3, -9)
        assert (first.poll(), second.poll()) == (3, -9)
        assert written(output).splitlines() == ["out", "err"]


def test_a_copy_that_goes_on_has_no_status_and_is_ended_with_all_that_it_started(server: ForkServer) -> None:
    with tempfile.TemporaryFile() as output:
        child = shell(server, "sleep 100 & echo $!; wait", output)
        assert child.poll() is None
        deadline = time.monotonic() + 30
        while not written(output):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.kill()
        assert child.wait(30) == -9
        started = Path(f"/proc/{written(output).strip()}/stat")
        deadline = time.monotonic() + 30
        while started.exists() and " Z " not in started.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.kill()  # which is nobody else's end by now


def test_a_copy_has_none_of_the_servers_descriptors(server: ForkServer) -> None:
    with tempfile.TemporaryFile() as output:
        waiting = shell(server, "sleep 100", output)  # whose descriptors the server holds meanwhile
        assert shell(server, "readlink /proc/$$/fd/*; true", output).wait(30) == 0
        waiting.kill()
        links = written(output).splitlines()
    assert links[0] == "/dev/null"
    assert len(links) == 3
    assert not [each for each in links if "socket" in each or "pidfd" in each or "pipe" in each]


def test_a_server_that_has_gone_is_no_verdict(server: ForkServer) -> None:
    with tempfile.TemporaryFile() as output:
        child = shell(server, "sleep 100", output)
        server._process.kill()
        server._process.wait()
        with pytest.raises(CannotJudge, match="has ended"):
            child.wait(30)
        with pytest.raises(CannotJudge, match="no program can be run here"):
            shell(server, "true", output)


def test_a_judge_that_is_killed_takes_the_server_with_it(server: ForkServer) -> None:
    server._control.close()  # as the system does for it
    assert server._process.wait(30) == 0


def test_what_one_copy_was_told_another_does_not_find_in_its_memory(server: ForkServer) -> None:
    secret = "of-the-first-copy"
    with tempfile.TemporaryFile() as output:
        assert shell(server, f"true {secret}", output).wait(30) == 0
    memory = Path(f"/proc/{server._process.pid}/mem")
    found = 0
    for line in Path(f"/proc/{server._process.pid}/maps").read_text().splitlines():
        span, rights, *_, name = f"{line} -".split()[:7]
        start, end = (int(each, 16) for each in span.split("-"))
        if "w" in rights and not name.startswith("["):
            with memory.open("rb") as file:
                file.seek(start)
                found += file.read(end - start).count(secret.encode())
    assert found == 0


def test_the_server_and_its_copies_end_with_it(tmp_path: Path) -> None:
    server = ForkServer(str(tmp_path))
    with tempfile.TemporaryFile() as output:
        child = shell(server, "sleep 100", output)
        server.close()
        deadline = time.monotonic() + 30
        status = Path(f"/proc/{child.pid}/stat")
        while status.exists() and " Z " not in status.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
