"""The judge never waits without an end, whatever the worker does, and leaves nothing behind."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from gridstride.judge.sandbox import scratch
from gridstride.judge.sandbox.client import CannotJudge, StoppedError, Worker
from gridstride.judge.sandbox.limits import WorkerLimits
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.sandbox.wire import Bounds, WireMessage

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
FOLDER = Path(__file__).parents[1] / "hostile"
SECONDS = 0.5  # that a request may take
AT_MOST = 5.0  # with closing, on a busy machine
LIMITS = WorkerLimits(memory=1 << 30, scratch=64 << 20)


def started(**given: object) -> Worker:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    try:
        return Worker(LIMITS, module="probe_worker", cache=False, **given)
    finally:
        del sys.path[0]


def probe(**given: object) -> Worker:
    worker = started(**given)
    worker.wait_until_ready()
    return worker


def stopped(source: str, *, seconds: float = SECONDS, **given: object) -> tuple[str, str]:
    """Why the worker was stopped and the reason; it is gone then."""
    with probe(**given) as worker:
        begun = time.monotonic()
        with pytest.raises(StoppedError) as caught:
            worker.ask(WireMessage({"run": source}), seconds=seconds, doing="running")
        assert time.monotonic() - begun < seconds + AT_MOST
        assert not Path(f"/proc/{worker._process.pid}").exists()
    return caught.value.why, caught.value.reason


@pytest.mark.parametrize(
    ("name", "why", "said"),
    [
        ("closes_the_reply", "broken", "closed the pipe for its reply and went on"),
        ("closes_everything", "broken", "closed the pipe for its reply and went on"),
        ("half_a_message", "time", "had not ended after 0.5 s"),
        ("trickles_the_reply", "time", "had not ended after 0.5 s"),
        ("never_ending_header", "broken", "4294967295 buffers"),
        ("floods_the_reply", "broken", "a message of 2 characters and 1 buffers"),
        ("stops_itself", "time", "had not ended after 0.5 s"),
        ("prints_for_ever", "time", "had not ended after 0.5 s"),
        ("never_ends", "time", "had not ended after 0.5 s"),
        ("ends_the_main_thread", "crash", "ended its main thread"),
        ("deep_json", "broken", "no JSON"),
        ("replies_twice", "broken", "more than one message"),
        ("many_empty_objects", "broken", "a message of 60000017 characters"),
    ],
)
def test_a_submission_that_does_not_answer_is_stopped(name: str, why: str, said: str) -> None:
    found, reason = stopped((FOLDER / f"{name}.py").read_text())
    assert found == why
    assert said in reason


def test_a_request_that_is_never_read_is_given_up() -> None:
    with probe() as worker:
        worker.ask(WireMessage({"run": "pass"}), seconds=20, doing="running")
        os.kill(worker._process.pid, 19)  # SIGSTOP
        begun = time.monotonic()
        with pytest.raises(StoppedError, match=r"had not ended after 0\.5 s"):
            worker.ask(WireMessage({"run": "pass"}, [bytes(1 << 24)]), seconds=SECONDS, doing="running")
        assert time.monotonic() - begun < SECONDS + AT_MOST


def test_a_worker_that_never_says_that_it_is_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridstride.judge.sandbox.client._START", SECONDS)
    with started(asleep=True) as worker, pytest.raises(CannotJudge, match="starting had not ended"):
        worker.wait_until_ready()


def test_a_reply_before_it_is_asked_for_is_none() -> None:
    early = "import os, json, struct, sys, threading\n"
    early += 'text = b\'{"said": "forged"}\'\n'
    early += "where = json.loads(sys.argv[1])['replies']\n"
    early += "send = lambda: os.write(where, struct.pack('<II', len(text), 0) + text)\n"
    early += "threading.Timer(0.3, send).start()"
    with probe() as worker:
        worker.ask(WireMessage({"run": early}), seconds=20, doing="running")
        time.sleep(0.8)
        with pytest.raises(StoppedError, match="a reply that nobody asked for"):
            worker.ask(WireMessage({"run": "pass"}), seconds=20, doing="running")


def test_descriptors_above_1023_are_no_trouble() -> None:
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1100:
        pytest.skip("this process may not open so many files")
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1030)]
    try:
        with probe() as worker:
            assert worker.ask(WireMessage({"run": "pass"}), seconds=20, doing="running").words == {"said": ""}
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_a_reply_is_held_once_and_one_beyond_what_is_asked_for_not_at_all() -> None:
    sends = "import os, json, struct, sys\n"
    sends += "where = json.loads(sys.argv[1])['replies']\n"
    sends += "os.write(where, struct.pack('<IIQ', 2, 1, 1 << 28) + b'{}')\n"
    sends += "left = 1 << 28\n"
    sends += "while left: left -= os.write(where, bytes(min(left, 65536)))\n"
    sends += "import time; time.sleep(100)"
    with probe() as worker:
        before = _resident()
        with _Peak() as peak:
            reply = worker.ask(
                WireMessage({"run": sends}), seconds=30, doing="running", bounds=Bounds(buffers=1, nbytes=1 << 28)
            )
        assert [len(each) for each in reply.buffers] == [1 << 28]
        assert peak.most - before < 1.9 * (1 << 28)  # twice would be two; the rest of the process grows a little, too
    assert "268435456 bytes" in stopped(sends)[1] or "1 buffers" in stopped(sends)[1]


class _Peak:
    """The most memory that this process held meanwhile."""

    def __enter__(self) -> _Peak:
        self.most, self._on = 0, True
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._on = False
        self._thread.join()

    def _look(self) -> None:
        while self._on:
            self.most = max(self.most, _resident())
            time.sleep(0.005)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- files, where no namespace bounds them -----------------------------------------------------------------------------
WRITES = """
import os, time
here = os.environ["TMPDIR"]
for number in range(200):
    with open(f"{here}/{number}", "wb") as file: file.write(bytes(1 << 20))
time.sleep(1000)
"""
DEEP = (
    (FOLDER / "deep_folders.py")
    .read_text()
    .replace('raise SystemExit("they are there")', "import time; time.sleep(60)")
)
CLOSED = 'import os, time; os.mkdir(os.environ["TMPDIR"] + "/closed", 0o300); time.sleep(60)'


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (WRITES, "wrote more than 64 MiB of files"),
        ((FOLDER / "many_files.py").read_text(), "made more than 2048 files"),
        (DEEP, "made "),
    ],
    ids=("bytes", "files", "depth"),
)
def test_what_lies_in_its_folder_is_bounded_without_a_namespace(source: str, said: str) -> None:
    why, reason = stopped(source, seconds=30.0, namespace=False)
    assert why == "disk"
    assert said in reason


def test_a_folder_of_any_depth_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with probe(namespace=False) as worker, pytest.raises(StoppedError):
        worker.ask(WireMessage({"run": DEEP}), seconds=30, doing="running")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_folder_counts_as_too_much_for_a_user_and_is_removed(tmp_path: Path) -> None:
    (tmp_path / "top" / "closed").mkdir(parents=True)
    (tmp_path / "top" / "closed" / "file").write_bytes(bytes(100))
    (tmp_path / "top" / "closed").chmod(0o000)
    if os.geteuid():  # root may look everywhere
        with pytest.raises(scratch.TooMuchError, match="cannot be looked into"):
            scratch.bytes_below(str(tmp_path / "top"))
    scratch.remove(str(tmp_path / "top"))
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_was_kept_from_running_has_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    with probe() as worker:
        kept = iter([5.0])
        monkeypatch.setattr("gridstride.judge.sandbox.client.seconds_without_processor", lambda _: next(kept, 5.5))
        begun = time.monotonic()
        with pytest.raises(StoppedError, match="had not ended after"):
            worker.ask(WireMessage({"run": "import time; time.sleep(60)"}), seconds=SECONDS, doing="running")
        assert time.monotonic() - begun >= 2 * SECONDS
