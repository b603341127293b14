"""Grid, block, cluster and shared memory: what they may be, and what a refusal says."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs


@pytest.fixture
def kernel(fake):
    return gs.cuda('extern "C" __global__ void k() {}')["k"]


def test_dimensions_are_ints_or_tuples(fake, kernel):
    kernel[2, 3]()
    kernel[(2, 3), (4, 5, 6)]()
    kernel[np.int64(7), (8,), 512]()
    kernel[[1, 2], 32]()
    assert [each.shape.grid for each in fake.launches] == [(2, 1, 1), (2, 3, 1), (7, 1, 1), (1, 2, 1)]
    assert [each.shape.block for each in fake.launches] == [(3, 1, 1), (4, 5, 6), (8, 1, 1), (32, 1, 1)]
    assert [each.shape.shared for each in fake.launches] == [0, 0, 512, 0]


def test_launch_passes_everything_on(fake, kernel):
    stream = gs.PhysicalGPU  # any object is refused, below
    kernel.launch(grid=(4, 2), block=64, shared=1024, cooperative=True, cluster=(2, 1, 1))
    launched = fake.launches[0]
    assert (launched.shape.grid, launched.shape.block, launched.shape.shared) == ((4, 2, 1), (64, 1, 1), 1024)
    assert launched.shape.cooperative
    assert launched.shape.cluster == (2, 1, 1)
    with pytest.raises(gs.LaunchError, match="is not a stream"):
        kernel.launch(grid=1, block=1, stream=stream)


REFUSED = [
    ({"grid": 0}, "grid = 0: it must be at least 1"),
    ({"grid": (4, 0)}, "grid.y = 0: it must be at least 1"),
    ({"grid": (1, 65536)}, "k: grid.y = 65536 is above the 65,535 of fake"),
    ({"grid": 2.0}, "grid = 2.0 is not a whole number"),
    ({"grid": (1, 1, 1, 1)}, "grid = (1, 1, 1, 1) has 4 dimensions"),
    ({"grid": ()}, "grid = () has 0 dimensions"),
    ({"block": 0}, "block = 0: it must be at least 1"),
    ({"block": -32}, "block = -32: it must be at least 1"),
    ({"block": 1025}, "k: block.x = 1025 is above the 1,024 of fake"),
    ({"block": (1, 1, 65)}, "k: block.z = 65 is above the 64 of fake"),
    ({"block": (64, 32)}, "k: block 64 x 32 x 1 has 2048 threads, fake allows 1024 in a block"),
    ({"shared": -1}, "dynamic shared memory = -1: it must be at least 0"),
    ({"shared": 227 * 1024 + 1}, "232,449 bytes of shared memory (0 static + 232,449 dynamic) are above the 232,448"),
    ({"cluster": 32, "grid": 32}, "k: cluster 32 x 1 x 1 has 32 blocks, the most is 16"),
    ({"cluster": 4, "grid": 6}, "k: grid.x = 6 is not a multiple of cluster.x = 4"),
]


@pytest.mark.parametrize(("changed", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_refused_shape_says_the_value_and_the_limit(fake, kernel, changed, message):
    with pytest.raises(gs.LaunchError) as refused:
        kernel.launch(**{"grid": 1, "block": 1, **changed})
    assert message in str(refused.value)
    assert not fake.launches


def test_the_largest_block_and_shared_memory_are_taken(fake, kernel):
    kernel[1, (32, 32), 227 * 1024]()
    assert len(fake.launches) == 1


def test_the_kernels_own_limits_count(fake):
    fake.static_shared, fake.max_threads = 1024, 128
    kernel = gs.cuda("__global__ void own() {}")["own"]
    with pytest.raises(gs.LaunchError, match="own: block 129 x 1 x 1 has 129 threads, this kernel allows 128"):
        kernel[1, 129]()
    with pytest.raises(gs.LaunchError, match=r"\(1,024 static \+ 232,448 dynamic\)"):
        kernel[1, 1, 227 * 1024]()


@pytest.mark.parametrize("key", [4, (4,), (1, 2, 3, 4)])
def test_a_launch_needs_grid_and_block(kernel, key):
    with pytest.raises(gs.LaunchError, match=r"a launch is kernel\[grid, block\]"):
        kernel[key]


def test_arguments_are_a_sequence_without_names(kernel):
    with pytest.raises(gs.LaunchError, match="args = 5 is not a tuple or list"):
        kernel.launch(grid=1, block=1, args=5)
    with pytest.raises(TypeError, match=r"^k\[grid, block\]\(\) got an unexpected keyword argument 'n'"):
        kernel[1, 1](n=1)


def test_observe_returns_what_the_device_observed(fake, kernel):
    assert kernel.observe(2, 32)() == "the run"
    assert fake.launches[0].shape.grid == (2, 1, 1)


def test_observe_brings_arrays_back(fake):
    kernel = gs.cuda("__global__ void fill(int* y) { *y = 7; }")["fill"]

    def fill(device, y):
        device.array(y, 1, np.int32)[:] = 7

    fake.run, y = fill, np.zeros(1, np.int32)
    assert kernel.observe(1, 1)(y) == "the run"
    assert y[0] == 7
    assert not fake.live
