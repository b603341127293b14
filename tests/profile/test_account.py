"""Every nanosecond belongs to exactly one category, whatever the trace looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_traces import call, event, kernel, note, operator, write

from gridstride.profile import intervals
from gridstride.profile.account import Account, account, communicates
from gridstride.profile.trace import Trace, TraceSpan, read

LANES = (("7", "7"), ("7", "8"), ("0", "stream 7"))
NAMES = ("aten::mm", "aten::copy_", "enumerate(DataLoader)#x", "c10d::allreduce_", "cudaMalloc", "cudaMemcpyAsync",
         "ncclDevKernel_AllReduce", "gemm")  # fmt: skip
SPANS = st.lists(
    st.builds(
        lambda name, start, length, lane: TraceSpan(name, start, start + length, lane),
        st.sampled_from(NAMES), st.integers(0, 80), st.integers(0, 40), st.sampled_from(LANES),
    ),
    max_size=8,
)  # fmt: skip
TRACES = st.builds(
    Trace, st.just(0), st.just(120), operators=SPANS, annotations=SPANS, calls=SPANS, kernels=SPANS, copies=SPANS,
    overhead=SPANS,
)  # fmt: skip
LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@given(TRACES, st.integers(0, 60), st.integers(0, 60))
def test_the_categories_are_disjoint_and_together_the_wall_time(trace: Trace, start: int, length: int) -> None:
    found = account(trace, start, start + length)
    assert sum(found.time(category.key) for category in found.parts) >= found.wall  # keys may be shared, times not
    assert sum(intervals.length(times) for times in found.parts.values()) == found.wall == length
    whole = np.concatenate([*found.parts.values()]) if length else intervals.NOTHING
    assert intervals.length(intervals.union(whole)) == length


@given(TRACES)
def test_time_in_which_a_kernel_computes_is_the_kernels_whatever_the_host_does(trace: Trace) -> None:
    computing = [span for span in trace.kernels if not communicates(span.name)]
    expected = intervals.common(intervals.of(computing), intervals.between(0, 120))
    found = account(trace, 0, 120)
    assert found.time("kernels") == intervals.length(expected)


def of(tmp_path: Path, events: list[dict[str, Any]]) -> Account:
    trace = read(write(tmp_path / "t.json", events))
    return account(trace, trace.start, trace.end)


def shares(found: Account) -> dict[str, int]:
    """Whole microseconds of what is there."""
    keys = {category.key for category in found.parts}
    return {key: found.time(key) // 1000 for key in keys if found.time(key)}


def test_on_a_gpu_only_idle_time_counts_what_the_host_did(tmp_path: Path) -> None:
    found = of(tmp_path, [
        note(LOADING, 0, 20), operator("aten::mm", 20, 30), call("cudaLaunchKernel", 22, 5),
        kernel("gemm", 30, 40), operator("aten::relu", 75, 5), kernel("relu", 85, 15),
        call("cudaMalloc", 81, 2),
    ])  # fmt: skip
    # 20 loading, 20–30 operator, 30–70 gemm, 70–75 Python, 75–80 operator, 80 Python, 81–83 malloc, Python, relu
    assert shares(found) == {"data_loading": 20, "launch_gaps": 15, "kernels": 55, "host": 8, "allocation": 2}


def test_communication_counts_only_where_nothing_computes_beside_it(tmp_path: Path) -> None:
    found = of(tmp_path, [
        operator("aten::mm", 0, 1), kernel("gemm", 0, 50), kernel("ncclDevKernel_AllReduce", 30, 50, lane="stream 9"),
    ])  # fmt: skip
    assert shares(found) == {"kernels": 50, "communication": 30}


def test_copies_over_the_bus_count_with_what_the_host_does_for_them(tmp_path: Path) -> None:
    copy = event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 20, 10, lane="stream 7", pid=0)
    found = of(tmp_path, [operator("aten::copy_", 0, 40), call("cudaMemcpyAsync", 5, 30), copy])
    assert shares(found) == {"launch_gaps": 10, "staging": 20, "copies": 10}


def test_on_a_cpu_what_a_dataloader_calls_is_data_loading(tmp_path: Path) -> None:
    found = of(tmp_path, [
        note(LOADING, 0, 50), operator("aten::stack", 10, 20), operator("aten::mm", 60, 30),
        operator("aten::copy_", 65, 5), operator("aten::add", 95, 5),
    ])  # fmt: skip
    assert shares(found) == {"data_loading": 50, "operators": 30, "copies": 5, "host": 15}


def test_an_empty_window_has_nothing_to_account_for() -> None:
    found = account(Trace(0, 0), 5, 5)
    assert found.wall == 0
    assert found.share("host") == 0.0


@pytest.mark.parametrize(
    "name", ["ncclDevKernel_AllReduce_Sum_f32", "c10d::allreduce_", "gloo:all_reduce", "nccl:send"]
)
def test_communication_is_known_by_its_names(name: str) -> None:
    assert communicates(name)
    assert not communicates("ampere_sgemm_128x64_tn")
