"""The threads that run blocks: they end with the device that they belong to."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np

import gridstride as gs
from gridstride.virtual.machine.workers import Helpers

ADD = 'extern "C" __global__ void add(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }'


def running() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "gridstride-worker"}


def ended(threads: set[threading.Thread]) -> bool:
    deadline = time.monotonic() + 20
    while threads & running() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not threads & running()


def test_a_device_that_is_gone_leaves_no_thread_behind() -> None:
    before = running()
    for _ in range(3):
        gpu, x = gs.VirtualGPU(workers=3), np.zeros(64 * 64, np.float32)
        with gs.use(gpu):
            gs.cuda(ADD)["add"][64, 64](x)
        assert x.min() == x.max() == 1
    mine = running() - before
    assert mine
    del gpu
    gc.collect()
    assert ended(mine)


def test_no_thread_is_started_before_there_is_work() -> None:
    before = running()
    helpers = Helpers(4)
    assert running() == before
    del helpers
