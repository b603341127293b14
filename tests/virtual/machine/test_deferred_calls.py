"""What is gone gives its memory back, without waiting: the garbage collector runs finalizers on any thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest

import gridstride as gs

SOURCE = '__device__ float table[1 << 16]; extern "C" __global__ void k(float *x) { x[0] = table[1]; }'


def an_array() -> object:
    return gs.to_device(np.zeros(1 << 16, np.float32))


def a_module() -> object:
    module = gs.cuda(SOURCE)
    module["k"][1, 1](np.zeros(1, np.float32))
    return module


def a_texture() -> object:
    return gs.texture(np.zeros((64, 64), np.float32))


@pytest.mark.parametrize("make", [an_array, a_module, a_texture])
def test_a_finalizer_never_waits_for_the_device(make: Callable[[], object]) -> None:
    """As in a thread that is being started by the one that launches, and collects garbage on its way."""
    gpu = gs.VirtualGPU()
    with gs.use(gpu):
        before = gpu.arena.used
        things = [make()]
        held = gpu.arena.used
        assert held > before

        def drop() -> None:
            things.clear()
            gc.collect()

        with gpu.lock:
            thread = threading.Thread(target=drop, daemon=True)
            thread.start()
            thread.join(20)
            assert not thread.is_alive(), "it waits for the thread that waits for it"
        gs.empty(1, np.float32)  # whoever takes the device next gives back what is gone
        assert gpu.arena.used < held


def test_what_goes_while_its_own_thread_holds_the_device_is_given_back_later() -> None:
    gpu = gs.VirtualGPU()
    with gs.use(gpu):
        array = an_array()
        held = gpu.arena.used
        with gpu.lock:
            del array
            assert gpu.arena.used == held
        gs.empty(1, np.float32)
        assert gpu.arena.used < held
