"""How a run shows itself: totals, its lines with their source, findings; as text and as HTML."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.observe import model
from gridstride.virtual.observe.registers import Registers
from gridstride.virtual.observe.run import ObservedRun

STRIDED = """// <b>not bold</b>
extern "C" __global__ void strided(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = x[32 * i];  // <i>one sector for each lane</i>
}
"""


@pytest.fixture(scope="module")
def run() -> ObservedRun:
    x, y = np.ones(32 * 64, np.float32), np.zeros(64, np.float32)
    with gs.use("virtual"):
        return gs.cuda(STRIDED)["strided"].observe(1, 64)(x, y)


def test_the_text_has_totals_and_a_row_for_each_line(run: ObservedRun) -> None:
    title, totals, prediction, occupancy, _, header, *rows = str(run).splitlines()
    assert title == "strided on virtual h200: grid 1, block 64"
    # 2 warps: 32 sectors each to load, 4 each to store.
    assert "72 global sectors (18.0 per request)" in totals
    assert re.fullmatch(rf"limited by {run.predicted.limiter}: \S+ ms predicted \(.+\)", prediction)
    assert re.fullmatch(r"occupancy \d+ %: .+, limited by grid; \d+ registers per thread.*", occupancy)
    assert header.split() == [
        "line",
        "source",
        "instr.",
        "lanes",
        "sectors",
        "per",
        "req.",
        "excess",
        "wavefronts",
        "conflicts",
    ]
    (row,) = [row for row in rows if row.startswith("   4  ")]
    assert "y[i] = x[32 * i];" in row
    assert row.split()[-4:] == ["%", "72", "18.0", "4.5×"]


def test_the_html_escapes_the_source(run: ObservedRun) -> None:
    page = run._repr_html_()
    assert "&lt;i&gt;one sector for each lane&lt;/i&gt;" in page
    assert "<i>" not in page


def test_the_html_shades_the_busiest_line_most(run: ObservedRun) -> None:
    shades = {
        int(line): float(shade)
        for line, shade in re.findall(r">(\d+)</td><td [^>]*rgba\([\d,]+,([\d.]+)\)", run._repr_html_())
    }
    assert max(shades, key=lambda line: shades[line]) == 4


def test_findings_are_shown() -> None:
    source = STRIDED.replace("32 * i", "64 * i")
    with gs.use("virtual"):
        run = gs.cuda(source)["strided"].observe(1, 64)(np.ones(32 * 64, np.float32), np.zeros(64, np.float32))
    assert re.search(r"^! .*out of bounds", str(run), re.MULTILINE)
    assert "out of bounds" in run._repr_html_()


def test_a_run_that_was_stopped_predicts_nothing() -> None:
    with gs.use(gs.VirtualGPU(workers=1)):
        kernel = gs.cuda("__global__ void late(int* x) { if (threadIdx.x == 40) x[99] = 1; }")["late"]
        run = kernel.observe(1, 64)(np.zeros(64, np.int32))
    assert run.stopped
    assert run.json()["stopped"] is True
    assert "stopped before its end" in str(run)
    assert "predicted" not in str(run)


def test_no_time_is_shown_of_a_launch_that_hardware_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "registers_of", lambda *_: Registers(255, estimated=False))
    x, y = np.ones(32 * 1024, np.float32), np.zeros(1024, np.float32)
    with gs.use("virtual"):
        shown = str(gs.cuda(STRIDED)["strided"].observe(1, 1024)(x, y))
    assert "no time is predicted of a launch that hardware refuses" in shown
    assert "more registers than a multiprocessor has, at 255 registers per thread" in shown
    assert " ms predicted" not in shown
