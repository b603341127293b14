"""What is found in traces with one weakness each, and that a program without any is left in peace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from profile_traces import call, event, kernel, note, operator, sample, shaped, write

from gridstride.profile.findings import ProfileFinding
from gridstride.profile.summary import ProgramProfile, Ran, summarise
from gridstride.profile.trace import read

H200 = {"name": "NVIDIA H200", "numSms": 132, "totalGlobalMem": 150_754_820_096}
CPU = {"cpu": {"threads": 2, "bytes_per_s": 1e10, "flops": {"float": 1e11}}}


def profile_of(tmp_path: Path, events: list[dict[str, Any]], gpu: bool = True) -> ProgramProfile:
    about: dict[str, Any] = {"deviceProperties": [H200]} if gpu else {"gridstride": CPU}
    return summarise(read(write(tmp_path / "t.json", events, **about)), Ran("t"))


def found(profile: ProgramProfile, kind: str) -> ProfileFinding:
    """The finding of that kind, which must be there once."""
    (one,) = [each for each in profile.findings if each.kind == kind]
    return one


def loading(iterator: str, waits: list[float]) -> list[dict[str, Any]]:
    """A loop of 100 µs of work after each wait."""
    events, at = [], 0.0
    for wait in waits:
        events += [note(f"enumerate(DataLoader)#_{iterator}.__next__", at, wait), operator("aten::x", at + wait, 100)]
        at += wait + 100
    return events


def test_a_dataloader_without_workers_is_told_to_have_some(tmp_path: Path) -> None:
    events = [*loading("SingleProcessDataLoaderIter", [300] * 6), sample("train.py:9 in __getitem__", 1000)]
    one = found(profile_of(tmp_path, events, gpu=False), "data_loading")
    assert "num_workers" in one.remedy
    assert one.gain == pytest.approx(0.75)
    assert one.line == "train.py:9 in __getitem__"


def test_workers_that_do_not_keep_up_are_told_from_workers_that_start(tmp_path: Path) -> None:
    slow = profile_of(tmp_path, loading("MultiProcessingDataLoaderIter", [300] * 8), gpu=False)
    starting = profile_of(tmp_path, loading("MultiProcessingDataLoaderIter", [5, 5, 5, 9000, 5, 5, 5, 5]), gpu=False)
    assert "do not keep up" in " ".join(found(slow, "data_loading").evidence)
    assert "persistent_workers" in found(starting, "data_loading").remedy


def synchronising(count: int) -> list[dict[str, Any]]:
    """A kernel of 50 µs, a wait for it, and 30 µs of idleness after each."""
    events = []
    for n in range(count):
        at, op = 100.0 * n, 10 * n + 1
        events += [
            operator("aten::mm", at, 10, op, **shaped([64, 64], [64, 64])),
            call("cudaLaunchKernel", at + 2, 4, op, op),
            kernel("gemm_bf16", at + 10, 50, op, op),
            operator("aten::item", at + 12, 60, op + 1),
            call("cudaStreamSynchronize", at + 15, 55, op + 1, op + 1),
            sample("train.py:31 in step", at + 40),
        ]
    return events


def test_waits_for_the_gpu_are_counted_with_what_they_cost(tmp_path: Path) -> None:
    one = found(profile_of(tmp_path, synchronising(10)), "synchronisation")
    assert ".item() 10 times" in one.evidence[0]
    assert one.gain == pytest.approx(9 * 40 / 972, rel=0.05)  # from the wait's end at 70 to the next kernel at 110
    assert one.line == "train.py:31 in step"


def test_many_short_kernels_are_launch_bound(tmp_path: Path) -> None:
    events = []
    for n in range(100):
        events += [operator("aten::sin", 10.0 * n, 9, n + 1), call("cudaLaunchKernel", 10.0 * n + 4, 4, n + 1, n + 1),
                   kernel("sin", 10.0 * n + 9, 2, n + 1, n + 1)]  # fmt: skip
    one = found(profile_of(tmp_path, events), "launch_bound")
    assert "reduce-overhead" in one.remedy
    assert one.gain == pytest.approx(0.8, abs=0.01)


def test_copies_from_pageable_memory_are_named_with_their_rate(tmp_path: Path) -> None:
    events = []
    for n in range(4):
        at = 1000.0 * n
        events += [
            operator("aten::copy_", at, 500, n + 1),
            call("cudaMemcpyAsync", at + 5, 490, n + 1, n + 1),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 100, 400, lane="s", pid=0, bytes=4_000_000,
                  correlation=n + 1, **{"External id": n + 1}),
            kernel("mul", at + 500, 500, 99),
        ]  # fmt: skip
    one = found(profile_of(tmp_path, events), "pageable_copies")
    assert "16.0 MB at 10.0 GB/s" in one.evidence[0]
    assert one.gain == pytest.approx(0.49, abs=0.01)
    assert "pin_memory" in one.remedy


def products(name: str, duration: float, dtype: str) -> list[dict[str, Any]]:
    shapes = shaped([4096, 4096], [4096, 4096], dtype=dtype)
    return [
        each
        for n in range(4)
        for each in (
            operator("aten::mm", n * duration, 10, n + 1, **shapes),
            kernel(name, n * duration, duration, n + 1, n + 1),
        )
    ]


def test_a_product_far_from_its_limit_is_sent_to_its_ladder(tmp_path: Path) -> None:
    one = found(profile_of(tmp_path, products("my_gemm", 1000, "c10::BFloat16")), "far_from_limit")
    floor = 2 * 4096**3 / (2 * 2048 * 132 * 1.98e9)
    assert one.gain == pytest.approx(1 - floor / 1e-3, rel=1e-3)
    assert one.ladder == "matmul"
    assert "gridstride climb matmul" in one.remedy


def test_a_product_near_its_limit_is_left_in_peace(tmp_path: Path) -> None:
    assert profile_of(tmp_path, products("nvjet_hsh", 150, "c10::BFloat16")).findings == ()


def test_float32_products_outside_the_tensor_cores_are_named(tmp_path: Path) -> None:
    one = found(
        profile_of(tmp_path, products("sm80_xmma_gemm_f32f32_f32f32_f32_simt", 3000, "float")), "float32_products"
    )
    assert "set_float32_matmul_precision" in one.remedy
    tf32 = profile_of(tmp_path, products("sm90_xmma_gemm_f32f32_tf32f32_f32", 300, "float"))
    assert [each.kind for each in tf32.findings if each.kind == "float32_products"] == []


def test_elementwise_kernels_in_a_row_are_told_to_be_one(tmp_path: Path) -> None:
    shapes = shaped([1 << 26], [1 << 26])
    events = []
    for n in range(12):
        name = "aten::mm" if n % 6 == 5 else "aten::mul"
        events += [operator(name, 200.0 * n, 5, n + 1, **(shapes if name == "aten::mul" else {})),
                   kernel("k", 200.0 * n, 200, n + 1)]  # fmt: skip
    one = found(profile_of(tmp_path, events), "elementwise_chains")
    assert "10 operators in 2 chains of 5.0" in one.evidence[0]
    assert one.gain == pytest.approx(10 / 12 * (1 - 2 / 6))


def test_an_optimizer_of_hundreds_of_operators_is_told_to_fuse(tmp_path: Path) -> None:
    events = []
    for step in range(5):
        at = 10_000.0 * step
        events += [note("Optimizer.step#AdamW.step", at, 5000)]
        events += [operator("aten::mul_", at + 10 * n, 8, 1000 * step + n + 1) for n in range(400)]
    one = found(profile_of(tmp_path, events, gpu=False), "optimizer")
    assert "fused=True" in one.remedy
    assert "400 operators" in one.evidence[0]


def test_findings_come_in_the_order_of_what_they_win(tmp_path: Path) -> None:
    gains = [each.gain for each in profile_of(tmp_path, synchronising(60)).findings]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) > 1


def test_a_gpu_that_always_computes_has_nothing_to_be_told(tmp_path: Path) -> None:
    events = [
        each for n in range(50) for each in (operator("mine::op", 100.0 * n, 5, n), kernel("k", 100.0 * n, 100, n))
    ]
    profile = profile_of(tmp_path, events)
    assert profile.findings == ()
    assert profile.view.account.share("kernels") == 1.0


def test_transposes_that_are_copied_are_to_be_removed_not_made_faster(tmp_path: Path) -> None:
    events, shapes = [], shaped([4096, 4096], [4096, 4096])
    for n in range(10):
        at = 10_000.0 * n
        events += [operator("aten::contiguous", at, 9000), operator("aten::clone", at + 1, 8998)]
        events += [operator("aten::copy_", at + 2, 8996, 3 * n + 1, **shapes), operator("aten::x", at + 9000, 1000)]
    profile = profile_of(tmp_path, events, gpu=False)
    one = found(profile, "reordering_copies")
    assert one.remedy.startswith("remove them")
    assert one.gain == pytest.approx(0.9, abs=0.01)
    assert "far_from_limit" not in [each.kind for each in profile.findings]


def test_other_copies_are_not_called_transposes(tmp_path: Path) -> None:
    shapes = shaped([4096, 4096], [4096, 4096])
    events = [operator("aten::copy_", 100_000.0 * n, 99_000, n + 1, **shapes) for n in range(10)]
    kinds = [each.kind for each in profile_of(tmp_path, events, gpu=False).findings]
    assert kinds == ["far_from_limit"]


def test_reading_numbers_one_by_one_is_named(tmp_path: Path) -> None:
    events = [operator(name, 20.0 * n, 10) for n in range(300) for name in ("aten::item" if n % 2 else "aten::add",)]
    one = found(profile_of(tmp_path, events, gpu=False), "small_operators")
    assert ".item() 150 times" in one.evidence[1]
    assert ".item()" in one.remedy


def test_what_was_cut_off_is_said(tmp_path: Path) -> None:
    about = {"gridstride": CPU | {"cut": {"events": 210_000, "seconds": 0.4, "asked": 3.0}}}
    profile = summarise(read(write(tmp_path / "t.json", [operator("aten::x", 0, 9)], **about)), Ran("t"))
    assert profile.cut.startswith("recorded 0.4 s of the 3 s: 210,000 events")
    assert profile.json()["cut"] == profile.cut
