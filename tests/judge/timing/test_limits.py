"""Speed-of-light arithmetic on the H200's own figures."""

from __future__ import annotations

import pytest

from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.virtual.chips import chip

H200 = Rates.of(chip("h200").properties)


def test_the_h200s_peaks_are_those_of_its_data_sheet() -> None:
    assert H200.flops * 1e3 / 1e12 == pytest.approx(67, rel=0.01)  # TFLOP/s, fp32
    assert H200.memory_bytes * 1e3 / 1e12 == pytest.approx(4.8, rel=0.03)  # TB/s


def test_the_roofline_takes_the_slower_of_memory_and_arithmetic() -> None:
    assert floor_ms((2 * 4096**3, 3 * 4 * 4096**2), H200) == pytest.approx(2 * 4096**3 / H200.flops)
    assert floor_ms((1 << 20, 12 << 20), H200) == pytest.approx((12 << 20) / H200.memory_bytes)
