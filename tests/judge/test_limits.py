"""Speed-of-light arithmetic on the H200's own figures."""

from __future__ import annotations

import pytest

from gridstride.judge.limits import Rates, busy_ms, floor_ms, scaled
from gridstride.virtual.chips import chip

H200 = Rates.of(chip("h200").properties)


def test_the_h200s_peaks_are_those_of_its_data_sheet() -> None:
    assert H200.flops * 1e3 / 1e12 == pytest.approx(67, rel=0.01)  # TFLOP/s, fp32
    assert H200.memory_bytes * 1e3 / 1e12 == pytest.approx(4.8, rel=0.03)  # TB/s


def test_the_roofline_takes_the_slower_of_memory_and_arithmetic() -> None:
    assert floor_ms((2 * 4096**3, 3 * 4 * 4096**2), H200) == pytest.approx(2 * 4096**3 / H200.flops)
    assert floor_ms((1 << 20, 12 << 20), H200) == pytest.approx((12 << 20) / H200.memory_bytes)


def test_one_wavefront_a_clock_and_multiprocessor() -> None:
    clocks = 132 * 1980e3  # a millisecond's
    assert busy_ms({"shared_wavefronts": clocks}, (0, 0), H200)["shared memory"] == pytest.approx(1.0)
    assert busy_ms({"instructions": 4 * clocks}, (0, 0), H200)["instruction issue"] == pytest.approx(1.0)


def test_counts_scale_with_the_work() -> None:
    assert scaled({"instructions": 3, "global_sectors": 4}, 8) == {"instructions": 24, "global_sectors": 32}
