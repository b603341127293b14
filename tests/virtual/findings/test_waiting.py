"""A launch that was stopped says what it waits for; a seed changes who comes first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridstride as gs

FAULTY = Path(__file__).parents[1] / "faulty"


def message(name: str) -> str:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, time_limit=0.3)):
        kernel = gs.cuda((FAULTY / f"{name}.cu").read_text())["k"]
        (found,) = kernel.observe(1, 64)(np.zeros(64, np.int32), np.zeros(64, np.int32), 5).findings
        assert isinstance(found.message, str)
        return found.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "mbarrier_arrivals",
            "the mbarrier at offset 0 of shared memory, waited for in line 17, is in phase 0 and lacks 1 of 65",
        ),
        ("barrier_count", "barrier 1 has 64 of 96 threads"),
        ("lock_never_free", "asks for the 4 bytes at offset 0 of shared memory again and again, which hold 1 (0x1)"),
    ],
)
def test_it_says_what_is_missing(name: str, words: str) -> None:
    assert words in message(name)


def test_it_names_the_element_of_an_array_that_a_loop_asks_for() -> None:
    source = 'extern "C" __global__ void k(volatile int* flags, int n) { while (flags[n] == 7) {} }'
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, time_limit=0.3)):
        (found,) = gs.cuda(source)["k"].observe(1, 32)(np.full(8, 7, np.int32), 5).findings
    assert "asks for flags[5] again and again, which holds 7" in found.message


def test_a_grid_that_is_not_cooperative_cannot_meet() -> None:
    source = (
        '#include <cooperative_groups.h>\nextern "C" __global__ void k() { cooperative_groups::this_grid().sync(); }'
    )
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20)):
        (found,) = gs.cuda(source)["k"].observe(2, 32)().findings
    assert "grid.sync() needs a cooperative launch" in found.message


def test_seeds_change_the_order_of_warps() -> None:
    source = 'extern "C" __global__ void k(int* x) { if (threadIdx.x % 32 == 0) x[0] = threadIdx.x; }'
    last = set()
    for seed in range(8):
        with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, seed=seed)):
            x = np.zeros(1, np.int32)
            gs.cuda(source)["k"].observe(1, 128)(x)
            last.add(int(x[0]))
    assert len(last) > 2


def test_a_seed_is_a_whole_number() -> None:
    with pytest.raises(ValueError, match="seed must be at least 0"):
        gs.VirtualGPU(seed=-1)
