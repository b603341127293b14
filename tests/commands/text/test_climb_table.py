"""What is said below a climb's table."""

from __future__ import annotations

from gridstride.commands.text.climb_table import _footnotes
from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.virtual.gpu import VirtualGPU


def test_a_rung_that_the_gpu_cannot_run_is_named_with_what_it_needs() -> None:
    folder = find("paged_attention")
    said = _footnotes(Ladder(folder, device=VirtualGPU("a100")))
    assert said[-1] == "04_bulk_ring is left out: it needs compute capability 9.0."
    assert not any("left out" in note for note in _footnotes(Ladder(folder, device=VirtualGPU("h200"))))
