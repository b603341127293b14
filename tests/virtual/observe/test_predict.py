"""The predicted time: which part limits, how it scales, and how far it is from an H200."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benches import ROOT, bench

import gridstride as gs
from gridstride.virtual.chips import chip, names
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.lowering.observed.dependency_chains import MEMORY_LATENCIES, Chain
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.predict import GridShape, Prediction, predict
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.operands import reads, writes

H200 = chip("h200")
FULL = GridShape(blocks=132 * 8, warps=8, resident=8)
CLOCKS = 132 * 1980e3  # of all multiprocessors in a millisecond


def busy(**counts: Any) -> Prediction:
    return predict(Counters(**counts), FULL, H200)


@pytest.mark.parametrize(
    ("counts", "limiter"),
    [
        ({"instructions": int(4 * CLOCKS)}, "issue"),
        ({"kinds": {"fp32_fma": int(4 * CLOCKS)}}, "FP32"),
        ({"kinds": {"fp64": int(2 * CLOCKS)}}, "FP64"),
        ({"kinds": {"special": int(CLOCKS / 2)}}, "special functions"),
        ({"shared_wavefronts": int(CLOCKS)}, "shared memory"),
        ({"global_lines": int(CLOCKS)}, "L1"),
        ({"read_bytes": int(4.26e9)}, "DRAM"),
        ({"chain": (1980e3 * 8 * FULL.blocks,) * 3}, "latency"),
    ],
)
def test_a_part_that_is_busy_for_a_millisecond_limits_to_one(counts: dict[str, Any], limiter: str) -> None:
    found = busy(**counts)
    assert found.limiter == limiter
    assert found.parts[limiter] == pytest.approx(1.0, rel=0.01)
    assert found.ms == pytest.approx(1.0, rel=0.02)


def test_the_limiter_comes_first_and_the_other_parts_by_size() -> None:
    found = busy(read_bytes=1 << 30, shared_wavefronts=1 << 20)
    assert next(iter(found.parts)) == found.limiter == "DRAM"
    assert list(found.parts.values()) == sorted(found.parts.values(), reverse=True)
    assert str(found).startswith("limited by DRAM: ")
    assert "predicted" in str(found)


def test_nothing_to_do_takes_a_launch() -> None:
    found = predict(Counters(), GridShape(1, 1, 1), H200)
    assert found.limiter == "launch"
    assert found.ms == pytest.approx(0.0013, rel=0.1)


def test_one_block_too_many_costs_a_whole_wave() -> None:
    work = {"kinds": {"fp64_fma": 132 * 10_000}}
    even, odd = (predict(Counters(**work), GridShape(n, 32, 2), H200).parts["FP64"] for n in (132, 133))
    assert odd / even == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("name", names())
def test_every_chip_predicts(name: str) -> None:
    assert predict(Counters(read_bytes=1 << 30), FULL, chip(name)).limiter == "DRAM"


def test_counts_scale_with_the_work() -> None:
    small = Counters(instructions=3, global_sectors=4, read_bytes=10, written_bytes=30, chain=(1.0, 2.0, 3.0))
    small.kinds = {"fp32": 3}
    large = small.scaled(8, moved=80)
    assert (large.instructions, large.global_sectors, large.kinds) == (24, 32, {"fp32": 24})
    assert (large.read_bytes, large.written_bytes, large.chain) == (20, 60, (8.0, 16.0, 24.0))


# -- chains -----------------------------------------------------------------------------------------------------------
def clocks(body: str, *, again: bool = False) -> list[int]:
    text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k() {{
    .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b32 %r<9>;
    {body}
    ret;
}}"""
    instructions = parse(text).functions["k"].instructions[:-1]
    return Chain().block(instructions, reads, writes, again=again)


def test_sums_that_need_each_other_wait_four_clocks_each() -> None:
    chained = clocks("fma.rn.f32 %f1, %f1, %f2, %f3;" * 10)
    apart = clocks("".join(f"fma.rn.f32 %f{i % 6 + 1}, %f7, %f8, %f8;" for i in range(10)))
    assert set(chained) == {36}  # the tenth is issued when the ninth is done
    assert set(apart) == {10}


def test_a_load_is_waited_for_where_its_result_is_needed() -> None:
    at_once = clocks("ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1;")
    never = clocks("ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f3, %f3;")
    assert at_once == list(MEMORY_LATENCIES)
    assert set(never) == {2}


def test_four_loads_side_by_side_are_waited_for_together() -> None:
    loads = "".join(f"ld.global.f32 %f{i}, [%rd1];" for i in range(1, 5))
    sums = "".join(f"add.f32 %f{i + 4}, %f{i}, %f{i};" for i in range(1, 5))
    assert clocks(loads + sums) == list(MEMORY_LATENCIES)


def test_a_loop_that_follows_pointers_waits_in_every_round() -> None:
    assert clocks("ld.global.u64 %rd1, [%rd1];", again=True) == list(MEMORY_LATENCIES)


# -- against the H200 -------------------------------------------------------------------------------------------------
BENCH = bench("prediction")
TIMES = json.loads((ROOT / "bench/results/times_h200.json").read_text())["limited"]
CHECKED = ("l2_write", "l1_columns", "shared_read_32", "fp64_tail", "special", "tensor_f16", "chase_shared",
           "fma_chain_thin", "atomic_scattered", "atomic_shared_32", "empty_many")  # fmt: skip


@pytest.fixture
def device() -> Iterator[None]:
    with gs.use(VirtualGPU(workers=1)):
        yield


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", CHECKED)
def test_a_kernel_with_one_limiter_has_it_named_and_its_time_met(name: str) -> None:
    kernel = next(each for each in BENCH.limited() if each.name == name)
    model, grid, counters = BENCH.counted_limited(kernel)
    found = model.at(grid, counters)
    assert found.limiter in kernel.limiter
    assert found.ms == pytest.approx(TIMES[name]["ms"], rel=0.25)


def test_the_recorded_error_on_what_was_held_out_is_within_the_aim() -> None:
    summary = json.loads((ROOT / "bench/results/prediction_h200.json").read_text())["summary"]
    assert summary["all"]["held_out"] <= 0.25
