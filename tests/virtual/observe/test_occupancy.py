"""Occupancy: registers from ptxas or estimated, and as many blocks as the driver says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.chips import chip
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.observe import registers
from gridstride.virtual.observe.occupancy import Occupancy, occupancy
from gridstride.virtual.observe.registers import Registers, estimate, parse
from gridstride.virtual.ptx import parse as parse_ptx

FIXTURE = Path(__file__).parents[1] / "fixtures/occupancy_h200.json"
MEASURED = json.loads(FIXTURE.read_text())["kernels"]
H200 = chip("h200")
FULL = (1 << 20, 1, 1)
SAXPY = """extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"""


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: str(row["kernel"]))
def test_a_multiprocessor_holds_as_many_blocks_as_the_driver_says(row: dict[str, int]) -> None:
    assert H200.resident_blocks(row["threads"], row["shared"], row["registers"]) == row["blocks"]


@pytest.mark.parametrize(
    ("threads", "shared", "count", "limiter"),
    [(256, 0, 64, "registers"), (256, 100 << 10, 16, "shared memory"), (512, 0, 16, "threads"), (32, 0, 16, "blocks")],
)
def test_the_limiter_is_what_there_is_too_little_of(threads: int, shared: int, count: int, limiter: str) -> None:
    found = occupancy(H200, FULL, (threads, 1, 1), shared, Registers(count, estimated=False))
    assert found.limiter == limiter
    assert found.warps == found.blocks * threads // 32
    assert found.share == found.warps / 64


def test_a_block_that_no_multiprocessor_holds_is_refused_by_hardware_where_the_registers_are_known() -> None:
    """What cuLaunchKernel calls too many resources requested."""
    known = occupancy(H200, FULL, (1024, 1, 1), 0, Registers(65, estimated=False))
    assert known.refused
    assert str(known).startswith(
        "hardware refuses this launch: one block takes more registers than a multiprocessor has"
    )
    assert not occupancy(H200, FULL, (1024, 1, 1), 0, Registers(64, estimated=False)).refused
    guessed = occupancy(H200, FULL, (1024, 1, 1), 0, Registers(65, estimated=True))
    assert not guessed.refused
    assert str(guessed).startswith("occupancy 0 %")


def test_a_small_grid_limits_itself() -> None:
    found = occupancy(H200, (10, 1, 1), (256, 1, 1), 0, Registers(16, estimated=False))
    assert (found.blocks, found.limiter) == (1, "grid")
    assert str(found).startswith("occupancy 12 %: 1 block, 8 warps per multiprocessor, limited by grid; 16 registers")


def observed() -> Occupancy:
    with gs.use(VirtualGPU(workers=1)):
        run = gs.cuda(SAXPY)["saxpy"].observe(4, 256)(1000, 2.0, np.zeros(1000, "f4"), np.zeros(1000, "f4"))
        return run.occupancy


def test_without_ptxas_registers_are_estimated_and_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "ptxas", lambda: None)
    found = observed()
    assert found.estimated
    assert "(estimated)" in str(found)
    assert 16 <= found.registers <= 32


@pytest.mark.skipif(registers.ptxas() is None, reason="there is no ptxas: pip install 'gridstride[ptxas]'")
def test_ptxas_says_how_many_registers_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path))
    found = observed()
    assert not found.estimated
    assert 8 <= found.registers <= 20  # 10 on the H200's driver


def test_a_ptxas_that_fails_leaves_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = shutil.which("false")
    if failing is None:
        pytest.skip("this system has no `false`")
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path))
    monkeypatch.setattr(registers, "ptxas", lambda: Path(failing))
    assert observed().estimated


def test_what_ptxas_prints_is_understood() -> None:
    said = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 8192 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    40 bytes stack frame, 36 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers"""
    assert parse(said) == {"a": Registers(32, False, 0), "b": Registers(255, False, 36)}


def test_an_estimate_keeps_what_the_kernel_promises() -> None:
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .maxntid 1024, 1, 1 .minnctapersm 2 {
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    st.global.u64 [%rd1], %rd1;
    ret;
}"""
    assert estimate(parse_ptx(text).functions["k"]) <= 65536 // 2048
