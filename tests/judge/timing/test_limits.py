"""Speed-of-light arithmetic on the H200's own figures."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import gridstride as gs
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.rung_figures import timed
from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.judge.timing.timer import Timer
from gridstride.judge.verdict import RungResult
from gridstride.virtual.chips import chip

H200 = Rates.of(chip("h200").properties)


def test_the_h200s_peaks_are_those_of_its_data_sheet() -> None:
    assert H200.flops * 1e3 / 1e12 == pytest.approx(67, rel=0.01)  # TFLOP/s, fp32
    assert H200.memory_bytes * 1e3 / 1e12 == pytest.approx(4.8, rel=0.03)  # TB/s


def test_the_roofline_takes_the_slower_of_memory_and_arithmetic() -> None:
    assert floor_ms((2 * 4096**3, 3 * 4 * 4096**2), H200) == pytest.approx(2 * 4096**3 / H200.flops)
    assert floor_ms((1 << 20, 12 << 20), H200) == pytest.approx((12 << 20) / H200.memory_bytes)


def test_a_problem_of_short_floats_has_the_tensor_cores_rate() -> None:
    half = Rates.of(chip("h200").properties, find("matmul_half").problem)
    assert half.flops * 1e3 / 1e12 == pytest.approx(1070, rel=0.01)  # TFLOP/s at 1980 MHz; 989 at the sheet's 1830
    assert Rates.of(chip("h200").properties, find("matmul").problem) == H200
    assert half.memory_bytes == H200.memory_bytes


def test_products_of_8_bits_have_twice_the_rate_of_short_floats_and_tf32_half_of_it() -> None:
    half, byte, tf32 = (Rates.of(chip("h200").properties, find(f"matmul_{name}").problem)
                        for name in ("half", "fp8", "tf32"))  # fmt: skip
    assert byte.flops == 2 * half.flops == 4 * tf32.flops


def test_a_gpu_that_no_file_describes_has_no_limit_of_tensor_cores() -> None:
    newer = replace(chip("h200").properties, compute_capability=(13, 0))
    assert Rates.of(newer, find("attention").problem).flops == math.inf


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["matmul_half", "attention", "cross_entropy", "cross_entropy_backward", "silu_mul"])
def test_no_ladder_ends_below_its_limit(name: str) -> None:
    """A time under the limit is taken for a fault."""
    folder, gpu = find(name), gs.PhysicalGPU()
    rung = [each for each in folder.rungs() if each.runs_on(gpu.properties)][-1]
    result, runnable = RungResult(rung=rung.name, title=rung.title), build(folder.problem, rung, gpu)
    timer = Timer(folder.problem, gpu, seed=3)
    result = timed(result, folder.problem, runnable, timer=timer, gpu=gpu.properties)
    assert result.findings == ()
    assert result.speed_of_light is not None
    assert 0.3 < result.speed_of_light < 1.0
