"""Reading a Chrome trace: what becomes of its events, and what files get that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from profile_traces import call, kernel, note, operator, sample, shaped, write

from gridstride.profile import stream
from gridstride.profile.stream import TraceError
from gridstride.profile.trace import Empty, read

EVENTS: list[dict[str, Any]] = [
    note("ProfilerStep#3", 100.0, 50.0),
    operator("aten::mm", 110.0, 10.5, 5, **shaped([4, 8], [8, 2])),
    call("cudaLaunchKernel", 112.0, 3.0, 5, 77),
    kernel("gemm", 116.0, 20.0, 5, 77),
    sample("train.py:3 in step", 111.0),
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
]


def test_times_are_nanoseconds_and_what_belongs_together_is_linked(tmp_path: Path) -> None:
    trace = read(write(tmp_path / "t.json", EVENTS))
    assert (trace.start, trace.end) == (0, 50_000)
    (product,), (launch,), (work,) = trace.operators, trace.calls, trace.kernels
    assert (product.start, product.duration) == (10_000, 10_500)
    assert product.inputs is not None
    assert product.inputs.dims == ((4, 8), (8, 2))
    assert launch.link == work.link == 77
    assert work.operator == product.operator == 5
    assert [each.line for each in trace.samples] == ["train.py:3 in step"]


def test_what_stands_beside_the_events_is_kept(tmp_path: Path) -> None:
    trace = read(write(tmp_path / "t.json", EVENTS, deviceProperties=[{"name": "NVIDIA H200"}]))
    assert trace.about["deviceProperties"] == [{"name": "NVIDIA H200"}]


def test_a_packed_trace_is_read_whatever_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "t.trace"
    packed.write_bytes(gzip.compress(write(tmp_path / "t.json", EVENTS).read_bytes()))
    assert len(read(packed).operators) == 1


def test_the_other_form_of_the_format_is_events_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(EVENTS))
    assert len(read(path).kernels) == 1


def test_a_trace_is_the_same_however_it_is_cut_into_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.json", EVENTS * 5, traceName="x")
    whole = read(path)
    for size in (1, 7, 64):
        monkeypatch.setattr(stream, "_CHUNK", size)
        assert read(path) == whole


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.97, 0.999])
@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_that_is_cut_off_is_refused(tmp_path: Path, keep: float, packed: bool) -> None:
    whole = write(tmp_path / "t.json", EVENTS * 20, traceName="x").read_bytes()
    whole = gzip.compress(whole) if packed else whole
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(TraceError, match=r"cut off or damaged|no Chrome trace, or cut off"):
        read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("{}", 'there is no "traceEvents"'),
        ('{"a": 1}', 'there is no "traceEvents"'),
        ("hello", 'there is no "traceEvents"'),
        ('{"traceEvents": [1, 2]}', "no object"),
        ('{"traceEvents": [}', "first event cannot be read"),
        ('{"traceEvents": []}', "holds no operator"),
        ('[{"ph": "X", "cat": "cpu_op", "name": "x"}]', "KeyError 'ts'"),
        ('[{"ph": "X", "cat": "cpu_op", "name": "x", "ts": "soon"}]', "ValueError"),
        ('[{"ph": "X", "cat": "cpu_op", "name": "x", "ts": 1e999}]', "ValueError"),
        ('[{"ph": "X", "cat": "cpu_op", "name": "x", "ts": 1, "args": [1]}]', "no trace of the PyTorch profiler"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_what_it_is(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(TraceError) as refused:
        read(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(bytes(range(128, 256)) * 20)
    with pytest.raises(TraceError, match="not text"):
        read(path)


def test_a_trace_without_operators_is_told_from_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(Empty):
        read(write(tmp_path / "t.json", [note("mine", 0, 5)]))
