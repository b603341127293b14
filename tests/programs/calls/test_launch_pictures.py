"""What a program's launches look like from inside: seen by launches that leave no trace in the device's memory."""

from __future__ import annotations

import numpy as np
import pytest

from gridstride.compiler import compile_cuda
from gridstride.judge.sandbox import records
from gridstride.programs.calls import launch_pictures
from gridstride.programs.calls.launch_pictures import MOST, LaunchPictures
from gridstride.programs.timeline.calls import TimelineCalls
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel

STEP = 3
SOURCE = """__device__ int counted;
__constant__ int step;
extern "C" __global__ void bump(int* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2) x[i] += step;
    if (i == 0) counted += 1;
}
extern "C" __global__ void far(int* x, int n) { x[n] = 1; }
"""


class Program:
    """An array of 64 zeros on the device, and launches as a program's timeline makes them."""

    def __init__(self) -> None:
        self.device = VirtualGPU(memory=64 << 20, workers=1)
        self.module = self.device.load(compile_cuda(SOURCE, arch="sm_90", filename="bump.cu").ptx)
        self.calls = TimelineCalls(self.device)
        self.calls.pictures = self.pictures = LaunchPictures(self.device)
        self.x = self.device.allocate(256)
        self.device.copy_in(self.x, np.zeros(64, np.int32).view(np.uint8))
        self.device.copy_in(self.module.global_address("step")[0], np.array([STEP], np.int32).view(np.uint8))

    def launch(self, kernel: str = "bump", blocks: int = 1, n: int = 64) -> VirtualKernel:
        found = self.module.kernels[kernel]
        packed = self.x.to_bytes(8, "little") + n.to_bytes(4, "little")
        self.calls.launch(found, Shape((blocks, 1, 1), (32, 1, 1), 0), packed, 0)
        return found

    def held(self, address: int, count: int) -> list[int]:
        return [int(each) for each in self.device.arena.view(address, 4 * count).view(np.int32)]


def test_a_launch_is_looked_at_and_the_memory_is_as_if_it_had_been_made_once() -> None:
    program = Program()
    program.launch()
    assert program.held(program.x, 4) == [0, STEP, 0, STEP]
    assert program.held(program.module.global_address("counted")[0], 1) == [1]
    assert sum(1 for _ in program.device.arena.live()) == len({start for start, _ in program.device.arena.live()})


def test_it_tells_what_a_warp_touches_with_the_programs_own_constants_and_where_its_lanes_part() -> None:
    program = Program()
    program.launch()
    (words,) = program.pictures.words()
    reads, writes = (a for a in records.accesses_of(words["accesses"]) if a.line == 6 and a.array == "argument 0")
    assert (reads.writes, writes.writes) == (False, True)
    assert [at for at in reads.addresses if at is not None] == list(range(4, 128, 8))
    lanes = [step.lanes for step in records.steps_of(words["way"])]
    assert lanes[0] == 0xFFFFFFFF
    assert min(lanes) < 0xFFFFFFFF


def test_a_kernel_in_one_shape_is_one_picture_however_often_it_is_launched() -> None:
    program = Program()
    for blocks in (1, 1, 2, 1):
        program.launch(blocks=blocks)
    once, twice = sorted(program.pictures.words(), key=lambda each: each["launches"])
    assert (once["launches"], twice["launches"]) == (1, 3)
    assert once["shape"] == [[2, 1, 1], [32, 1, 1], 0]
    assert twice["us"] == pytest.approx(3 * once["us"], rel=0.2)
    assert once["run"]["counters"]["lines"]


def test_of_many_shapes_the_first_are_looked_at() -> None:
    program = Program()
    program.device.copy_in(program.x, np.zeros(64, np.int32).view(np.uint8))
    program.x = program.device.allocate(4 * 32 * (MOST + 2))
    for blocks in range(1, MOST + 3):
        program.launch(blocks=blocks)
    assert len(program.pictures.words()) == MOST


def test_a_launch_that_faults_has_no_accesses_and_the_fault_is_the_launchs_own() -> None:
    program = Program()
    with pytest.raises(KernelFault):
        program.launch("far", n=1 << 20)
    assert len(program.device.faults) <= 1
    assert program.launch() is not None
    assert program.held(program.x, 2) == [0, STEP]


def test_memory_that_is_too_much_to_be_put_back_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_pictures, "_MOST_BYTES", 16)
    program = Program()
    program.launch()
    (words,) = program.pictures.words()
    assert (words["accesses"], words["way"]) == ([], [])
    assert words["run"]["counters"]["lines"]
