"""Counters: accesses whose counts are known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.observed_blocks import ALL_OBSERVED

PATTERNS = """
extern "C" __global__ void by_index(const int* where, const float* in, float* out) {
    out[threadIdx.x] = in[where[threadIdx.x]];
}
template <typename T> __global__ void shared_read(const int* where, T* out) {
    extern __shared__ float4 raw[];
    out[threadIdx.x] = reinterpret_cast<T*>(raw)[where[threadIdx.x]];
}
extern "C" __global__ void half_idle(float* out) {
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1.0f;
    }
}
"""
LANE = np.arange(32, dtype=np.int32)


@pytest.fixture(scope="module")
def module() -> Any:
    with gs.use(VirtualGPU(workers=1)):
        yield gs.cuda(PATTERNS, filename="patterns.cu")


def global_sectors(module: Any, where: np.ndarray[Any, Any]) -> int:
    """Sectors of the indexed read alone: the index's and the store's are 4 each."""
    arrays = gs.to_device(where.astype(np.int32)), gs.to_device(np.zeros(4096, "f4")), gs.to_device(np.zeros(32, "f4"))
    run = module["by_index"].observe(1, 32)(*arrays)
    assert run.counters.global_requests == 3
    return int(run.counters.global_sectors) - 8


@pytest.mark.parametrize(
    ("where", "sectors"),
    [
        (LANE, 4),  # 128 bytes in a row
        (LANE + 1, 5),  # the same across one more sector
        (LANE * 0, 1),
        (LANE * 2, 8),
        (LANE * 8, 32),  # one sector per lane
        (LANE[::-1], 4),
        (LANE // 16 * 64 + LANE % 16, 4),
    ],
)
def test_sectors_are_the_different_32_byte_pieces(module: Any, where: np.ndarray[Any, Any], sectors: int) -> None:
    assert global_sectors(module, where) == sectors


def test_sectors_of_any_pattern_are_those_of_a_set(module: Any) -> None:
    rng = np.random.default_rng(1)
    for limit in (16, 100, 4096):
        where = rng.integers(0, limit, 32)
        assert global_sectors(module, where) == len(set(where * 4 // 32))


@pytest.mark.parametrize(
    ("type_", "where", "wavefronts"),
    [
        ("float", LANE, 1),
        ("float", LANE * 0, 1),  # a broadcast
        ("float", LANE * 2, 2),
        ("float", LANE * 32, 32),  # one bank
        ("float", LANE * 33, 1),  # padded by one
        ("float", LANE % 16, 1),
        ("float", LANE // 16 * 32 + LANE % 16, 2),  # two rows on the same sixteen banks
        ("float2", LANE, 2),
        ("float4", LANE, 4),
    ],
)
def test_wavefronts_are_the_most_words_of_one_bank(
    module: Any, type_: str, where: np.ndarray[Any, Any], wavefronts: int
) -> None:
    floats = {"float": 1, "float2": 2, "float4": 4}[type_]
    out = gs.to_device(np.zeros(32 * floats, "f4"))
    indices = gs.to_device(where.astype(np.int32))
    run = module[f"shared_read<{type_}>"].observe(1, 32, 1024 * 4 * floats)(indices, out)
    assert run.counters.shared_wavefronts == wavefronts
    assert run.counters.bank_conflicts == wavefronts - floats
    assert run.counters.shared_requests == 1


def test_lanes_that_are_off_are_not_counted(module: Any) -> None:
    run = module["half_idle"].observe(1, 32)(gs.to_device(np.zeros(32, "f4")))
    store = next(line for line in run.counters.lines if line.global_requests)
    assert store.lane_share == 0.5
    assert store.global_bytes == 64
    assert run.counters.global_sectors == 4


def test_lines_add_up_to_the_totals(module: Any) -> None:
    run = module["half_idle"].observe(2, 64)(gs.to_device(np.zeros(64, "f4")))
    for name, total in run.counters.as_dict().items():
        assert total == sum(getattr(line, name) for line in run.counters.lines)
    assert sum(run.counters.kinds.values()) == run.counters.instructions


def test_a_small_grid_is_counted_whole_and_a_large_one_sampled(module: Any) -> None:
    out = gs.to_device(np.zeros(32, "f4"))
    small = module["half_idle"].observe(ALL_OBSERVED, 32)(out)
    large = module["half_idle"].observe(ALL_OBSERVED * 8, 32)(out)
    assert small.counters.exact
    assert not large.counters.exact
    assert large.counters.global_requests == pytest.approx(8 * small.counters.global_requests, rel=0.01)


def test_the_prediction_names_what_it_is_limited_by(module: Any) -> None:
    run = module["by_index"].observe(1, 32)(
        gs.to_device(LANE), gs.to_device(np.zeros(32, "f4")), gs.to_device(np.zeros(32, "f4"))
    )
    assert run.predicted.limiter in run.predicted.parts
    assert run.predicted.ms >= max(run.predicted.parts.values())


def test_what_a_run_counted_is_its_own_however_late_it_is_asked_for(module: Any) -> None:
    observed = module["half_idle"].observe
    first, second = (observed(blocks, 64)(gs.to_device(np.zeros(64, "f4"))) for blocks in (1, 5))
    assert second.counters.instructions == 5 * first.counters.instructions > 0
    assert first.counters.written_bytes == 4 * 64


def test_instructions_alone_are_those_of_the_lines(module: Any) -> None:
    run = module["half_idle"].observe(300, 64)(gs.to_device(np.zeros(64, "f4")))
    assert run.counters.sampled[0] < run.counters.sampled[1]
    assert run.model.instructions == pytest.approx(sum(line.instructions for line in run.counters.lines), rel=1e-3)
