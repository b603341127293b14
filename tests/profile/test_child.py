"""A recording ends when it holds as many events as somebody can wait for; memory of the program's own ends nothing."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridstride.profile import child
from gridstride.profile.child import WindowOver, WindowRecorder

torch = pytest.importorskip("torch")


class Profile:
    """The profiler, with as many events as it is told."""

    events = 0
    started = 0

    def __init__(self, **_: Any) -> None:
        results = SimpleNamespace(events=lambda: range(Profile.events))
        self.profiler = SimpleNamespace(kineto_results=results)

    def start(self) -> None:
        Profile.started += 1

    def stop(self) -> None: ...

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text('{"baseTimeNanoseconds": 0, "traceEvents": [{}]}')


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process's bytes, the last of the list."""
    sizes = [1 << 30]
    monkeypatch.setattr(torch.profiler, "profile", Profile)
    monkeypatch.setattr(child, "resident", lambda: sizes[-1])
    Profile.events = Profile.started = 0
    return sizes


@pytest.fixture
def recorder(tmp_path: Path, memory: list[int]) -> WindowRecorder:
    made = WindowRecorder(tmp_path, 0.0, 1e6)
    made._start()
    return made


def test_a_recording_of_too_many_events_is_cut_and_says_so(recorder: WindowRecorder, memory: list[int]) -> None:
    assert not recorder._due()
    memory.append(memory[-1] + 2 * child._GROWTH)
    Profile.events = child._EVENTS
    assert recorder._due()
    with pytest.raises(WindowOver):
        recorder._turn()
    assert recorder.cut is not None
    assert recorder.cut["events"] == child._EVENTS
    child.add_notes(recorder.folder / "trace.json", recorder.cut)
    assert json.loads((recorder.folder / "trace.json").read_text())["gridstride"]["cut"]["asked"] == 1e6


def test_memory_of_tensors_only_begins_the_recording_anew(recorder: WindowRecorder, memory: list[int]) -> None:
    recorder._sampler.samples.append((1, ("mine.py:1 in f",)))
    memory.append(memory[-1] + 2 * child._GROWTH)
    assert recorder._due()
    recorder._turn()
    assert (recorder.state, recorder.cut, Profile.started) == ("recording", None, 2)
    assert recorder._sampler.samples == []
    assert not recorder._due()


def test_each_time_more_memory_is_needed(recorder: WindowRecorder, memory: list[int]) -> None:
    for _ in range(50):
        memory.append(memory[-1] + 100 * (1 << 20))
        if recorder._due():
            recorder._turn()
    assert 2 <= Profile.started <= 7


def test_the_programs_own_memory_is_read() -> None:
    before = child.resident()
    with mmap.mmap(-1, 64 << 20) as held:  # pages that the process cannot have had before
        held[:] = bytes([1]) * len(held)
        assert child.resident() - before > len(held) // 2
