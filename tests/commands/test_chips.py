"""`gridstride chips`: their limits."""

from __future__ import annotations

import pytest
from command_line import Run


def test_chips_lists_limits(run: Run) -> None:
    listed = {each["chip"]: each for each in run("chips", "--json").json["chips"]}
    assert listed["h200"]["multiprocessors"] == 132
    assert listed["h200"]["compute_capability"] == "9.0"
    assert listed["h200"]["memory_bytes_per_s"] == pytest.approx(4.9e12, rel=0.02)
    assert "NVIDIA H200" in run("chips").out
