"""The small room: what may pass the filter, what is said through the door, and that nothing else differs."""

from __future__ import annotations

import mmap
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.sandbox import calls, landlock, records, seccomp
from gridstride.judge.sandbox.client import CannotJudge, Worker
from gridstride.judge.sandbox.limits import WorkerLimits
from gridstride.judge.sandbox.wire import Bounds, MessageReader, WireError, WireMessage, packed
from gridstride.judge.submission import check

OWN = 4242  # the process that the filter is made for
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
HEADERS = {0: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 1: "/usr/include/asm-generic/unistd.h"}


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the filter says to a call, by running its program."""
    program = seccomp.instructions(OWN, machine)
    data = {0: number, 4: ARCHITECTURES[machine] if architecture is None else architecture}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        data[16 + 8 * place], data[20 + 8 * place] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
    at = accumulator = 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            accumulator = data[k]
        elif code == 0x54:
            accumulator &= k
        else:
            at += yes if (accumulator == k if code == 0x15 else accumulator & k) else no


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_of_calls_are_those_of_the_system(column: int) -> None:
    header = Path(HEADERS[column])
    if not header.is_file():
        pytest.skip(f"needs {header}")
    known = {m[1]: int(m[2]) for m in re.finditer(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())}
    named = {**calls.PLAIN, "clone": calls.CLONE, "clone3": calls.CLONE3, "ioctl": calls.IOCTL, "prctl": calls.PRCTL,
             "prlimit64": calls.PRLIMIT64, "open": calls.OPEN, "openat": calls.OPENAT, "mmap": calls.MMAP,
             "madvise": calls.MADVISE, "fcntl": calls.FCNTL, "kill": calls.KILL, "tgkill": calls.TGKILL}  # fmt: skip
    for name, numbers in named.items():
        there = known.get(name, known.get(name.removeprefix("new")))
        assert numbers[column] in (there, calls.NONE), name


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_filter_lets_through_what_is_listed_and_nothing_else(machine: str, column: int) -> None:
    listed = {numbers[column] for numbers in calls.PLAIN.values()} - {calls.NONE}
    passes = {number for number in range(600) if verdict(machine, number) == ALLOWED}
    # Asks for limits and sets none, opens to read, maps what is its own, copies a descriptor.
    some = (calls.PRLIMIT64, calls.OPEN, calls.OPENAT, calls.MMAP, calls.FCNTL, calls.MADVISE)
    with_no_arguments = {numbers[column] for numbers in some} - {calls.NONE}
    assert passes == listed | with_no_arguments


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_threads_may_start_and_processes_may_not(machine: str, column: int) -> None:
    assert verdict(machine, calls.CLONE[column], 0x3D0F00) == ALLOWED  # as pthread_create asks
    assert verdict(machine, calls.CLONE[column], signal.SIGCHLD) != ALLOWED
    assert verdict(machine, calls.CLONE[column], 0x3D0F00 & ~0x400) != ALLOWED  # with descriptors of its own
    assert verdict(machine, calls.CLONE[column], 0x3D0F00 | 0x20000) != ALLOWED  # with mounts of its own
    assert verdict(machine, calls.CLONE3[column]) != ALLOWED


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_signals_go_to_the_process_itself_only(machine: str, column: int) -> None:
    assert verdict(machine, calls.KILL[column], OWN) == ALLOWED
    for other in (0, 1, OWN + 1, 0xFFFFFFFF):
        assert verdict(machine, calls.KILL[column], other) != ALLOWED
        assert verdict(machine, calls.TGKILL[column], other) != ALLOWED


def test_limits_can_be_asked_for_and_not_raised() -> None:
    assert verdict("x86_64", calls.PRLIMIT64[0], 0, 7, 0) == ALLOWED
    assert verdict("x86_64", calls.PRLIMIT64[0], 0, 7, 0x1000) != ALLOWED
    assert verdict("x86_64", calls.PRLIMIT64[0], 0, 7, 1 << 40) != ALLOWED
    assert verdict("x86_64", calls.PRLIMIT64[0], OWN, 7, 0) == ALLOWED
    assert verdict("x86_64", calls.PRLIMIT64[0], OWN + 1, 7, 0) != ALLOWED


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_a_descriptor_cannot_have_signals_sent(machine: str, column: int) -> None:
    fcntl = calls.FCNTL[column]
    copies_and_flags = {0, 1, 2, 3, 4, 1030}  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
    assert {command for command in range(2048) if verdict(machine, fcntl, 3, command) == ALLOWED} == copies_and_flags
    assert verdict(machine, fcntl, 3, 4, os.O_NONBLOCK) == ALLOWED
    assert verdict(machine, fcntl, 3, 4, os.O_ASYNC | os.O_NONBLOCK) != ALLOWED


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_files_are_opened_by_name_and_with_a_right_that_landlock_knows(machine: str, column: int) -> None:
    """Whatever the version: 3 as access mode, O_TRUNC without writing, O_PATH and O_TMPFILE ask it for too little."""
    openat = calls.OPENAT[column]
    for flags in (
        os.O_RDONLY,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        os.O_RDWR | os.O_APPEND,
        os.O_RDONLY | os.O_CLOEXEC,
    ):
        assert verdict(machine, openat, 0, 0, flags) == ALLOWED
    for flags in (3, 3 | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC, os.O_PATH, os.O_TMPFILE | os.O_RDWR):
        assert verdict(machine, openat, 0, 0, flags) != ALLOWED


def test_memory_that_is_shared_and_no_files_is_refused() -> None:
    private, shared, validated, anonymous = 2, 1, 3, 0x20
    assert verdict("x86_64", calls.MMAP[0], 0, 0, 0, private | anonymous) == ALLOWED
    assert verdict("x86_64", calls.MMAP[0], 0, 0, 0, shared) == ALLOWED
    assert verdict("x86_64", calls.MMAP[0], 0, 0, 0, shared | anonymous) != ALLOWED
    assert verdict("x86_64", calls.MMAP[0], 0, 0, 0, validated | anonymous) != ALLOWED
    assert verdict("x86_64", calls.MMAP[0], 0, 0, 0, private | anonymous | 0x40000) != ALLOWED  # huge pages


def test_memory_is_not_pushed_out_nor_taken_from_the_machine() -> None:
    page_out, merge, poison, offline, remove = 21, 12, 100, 101, 9
    for advice in (page_out, merge, poison, offline, remove):
        assert verdict("x86_64", calls.MADVISE[0], 0, 0, advice) != ALLOWED
    for advice in (mmap.MADV_DONTNEED, mmap.MADV_HUGEPAGE, mmap.MADV_FREE):
        assert verdict("x86_64", calls.MADVISE[0], 0, 0, advice) == ALLOWED


def test_calls_of_another_architecture_end_the_process() -> None:
    assert verdict("x86_64", 0, architecture=0x40000003) == KILLED


BOUNDS = Bounds(words=1 << 20, buffers=4, nbytes=1 << 20)
words = st.dictionaries(st.text(max_size=8), st.integers() | st.text() | st.none() | st.booleans(), max_size=4)


@given(words, st.lists(st.binary(max_size=200), max_size=4), st.integers(1, 50))
def test_a_message_arrives_as_it_was_sent_however_it_is_cut(said: Any, buffers: list[bytes], step: int) -> None:
    data = packed(WireMessage(said, buffers))
    reader, found = MessageReader(BOUNDS), None
    for start in range(0, len(data), step):
        found = reader.feed(data[start : start + step])
    assert found == WireMessage(said, buffers)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_message_are_refused_or_waited_on(data: bytes) -> None:
    try:
        found = MessageReader(BOUNDS).feed(data)
    except WireError:
        return
    assert found is None or isinstance(found.words, dict)


def test_texts_from_a_worker_cannot_play_with_a_terminal() -> None:
    shown = records.text("a\033[2Jb\x07\r\n" + "x" * 100, 50)
    assert "\033" not in shown
    assert "\r" not in shown
    assert len(shown) == 50


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(WorkerLimits(), chip="h200", workers=1) as one:
        yield one


def test_the_worker_locks_itself_in_with_all_that_the_system_offers(worker: Worker) -> None:
    worker.wait_until_ready()
    own = {"landlock": landlock.version(), "seccomp": seccomp.available()}
    assert {name: worker.locked[name] for name in own} == own


def test_a_request_that_makes_no_sense_is_answered(worker: Worker) -> None:
    reply = worker.ask(WireMessage({"do": "harm"}), seconds=10, doing="asking")
    assert "error" in reply.words


def test_a_worker_that_ends_is_a_reason_in_words() -> None:
    with (
        Worker(WorkerLimits(), chip="no such chip", workers=1) as one,
        pytest.raises(CannotJudge, match="no such chip"),
    ):
        one.wait_until_ready()


def test_the_room_changes_no_verdict_and_no_counter() -> None:
    folder = find("saxpy")
    path = folder.path / "rungs" / "01_scalar.cu"
    inside = check(path, folder, device=gs.VirtualGPU(), seed=5)
    outside = check(path, folder, device=gs.VirtualGPU(), seed=5, sandbox=False)
    assert inside.findings == outside.findings == ()
    assert inside.counters == outside.counters
    assert inside.max_error == outside.max_error
    assert inside.limiter == outside.limiter
    assert inside.run.counters.lines == outside.run.counters.lines


def test_findings_are_the_same_inside(tmp_path: Path) -> None:
    folder = find("saxpy")
    path = folder.path / "wrong" / "unguarded_tail.cu"
    inside = check(path, folder, device=gs.VirtualGPU(), seed=5)
    outside = check(path, folder, device=gs.VirtualGPU(), seed=5, sandbox=False)
    kind, line, thread = ((f.kind, f.line, f.thread) for f in (inside.findings[0],)).__next__()
    assert (kind, line, thread) == (outside.findings[0].kind, outside.findings[0].line, outside.findings[0].thread)


def test_what_is_right_is_never_said_to_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[WireMessage] = []
    ask = Worker.ask

    def listening(self: Worker, message: WireMessage, **how: Any) -> WireMessage:
        said.append(message)
        return ask(self, message, **how)

    monkeypatch.setattr(Worker, "ask", listening)
    folder = find("vector_add")
    ladder = Ladder(folder, device=gs.VirtualGPU(), seed=5, rungs=["01"], sandbox=True)
    result = next(iter(ladder))
    cases = ladder.cases()
    outputs = [each.values for case in cases for each in case.expected.values()]
    given = {
        each.tobytes() for case in cases for each in case.inputs.values() if hasattr(each, "tobytes")
    }  # a + 0 is an input, too
    expected = {each.astype("float32").tobytes() for each in outputs if each.size > 16 and each.any()} - given
    ladder.close()
    assert result.verdict == "pass"
    assert len(said) > 10
    assert len(expected) > 10
    assert not expected & {bytes(buffer) for message in said for buffer in message.buffers}
    sent = [words for message in said if (words := message.words.get("case"))]
    assert sent
    assert all("seed" not in words for words in sent)


@pytest.mark.parametrize("after", [0.0, 0.1, 0.5])
def test_an_interrupt_ends_the_worker_and_removes_its_folder(tmp_path: Path, after: float) -> None:
    endless = find("matmul").path / "wrong" / "endless_loop.cu"
    command = [sys.executable, "-m", "gridstride", "check", str(endless), "-p", "matmul", "--device", "virtual"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob("gridstride-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.glob("gridstride-*")) == []
