"""The chips: each file against the tables of its compute capability, and occupancy against examples done by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridstride.virtual import chips
from gridstride.virtual.chips import chip, names

KB = 1024
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": threads, blocks and KB of shared memory
# per multiprocessor, KB that a block may opt in to, clusters.
CAPABILITIES = {
    (7, 5): (1024, 16, 64, 64, False),
    (8, 0): (2048, 32, 164, 163, False),
    (8, 9): (1536, 24, 100, 99, False),
    (9, 0): (2048, 32, 228, 227, True),
}
# The same guide, "Arithmetic Instructions": results per clock and multiprocessor of fp32, fp64, half2, int32, special.
THROUGHPUT = {
    (7, 5): (64, 2, 128, 64, 16),
    (8, 0): (64, 32, 256, 64, 16),
    (8, 9): (128, 2, 128, 64, 16),
    (9, 0): (128, 64, 256, 64, 16),
}
# Data sheets: memory GB/s, peak fp32 Tflop/s, dense fp16 tensor Tflop/s (None: the sheet's clock is another one).
SHEETS = {
    "h200": (4800, 67, None),
    "h100": (3350, 67, None),
    "a100": (2039, 19.5, 312),
    "rtx4090": (1008, 82.6, 330.3),
    "t4": (320, 8.1, 65),
}


def test_the_chips_are_those_of_the_data_sheets() -> None:
    assert names() == sorted(SHEETS)


@pytest.mark.parametrize("name", names())
def test_every_chip_has_the_same_figures(name: str) -> None:
    sections = [
        (each.rates, each.latency, each.allocation, each.prediction, each.timeline)
        for each in (chip(name), chip("h200"))
    ]
    assert [set(section) for section in sections[0]] == [set(section) for section in sections[1]]


@pytest.mark.parametrize("name", names())
def test_every_figure_has_a_source(name: str) -> None:
    """Behind the figure, or behind the head of its section."""
    text = (Path(chips.__file__).parent / f"{name}.toml").read_text()
    without, section = [], False
    for line in text.splitlines():
        sourced = re.search(r"#.*(\[\w+\]|fitted|estimated)", line) is not None
        if line.startswith("["):
            section = sourced
        elif "=" in line and not line.startswith(("#", "name", "compute_capability")) and not (sourced or section):
            without.append(line)
    assert without == []


@pytest.mark.parametrize("name", names())
def test_limits_are_those_of_the_compute_capability(name: str) -> None:
    p = chip(name).properties
    threads, blocks, shared, optin, clusters = CAPABILITIES[p.compute_capability]
    assert (p.max_threads_per_multiprocessor, p.max_blocks_per_multiprocessor) == (threads, blocks)
    assert (p.shared_per_multiprocessor, p.shared_per_block_optin) == (shared * KB, optin * KB)
    assert p.shared_per_block == 48 * KB
    assert p.registers_per_multiprocessor == 65536
    assert (p.max_threads_per_block, p.max_block, p.warp_size) == (1024, (1024, 1024, 64), 32)
    assert p.max_grid == (2**31 - 1, 65535, 65535)
    assert p.max_cluster == (8 if clusters else 0)


@pytest.mark.parametrize("name", names())
def test_rates_are_those_of_the_compute_capability(name: str) -> None:
    model = chip(name)
    keys = ("fp32", "fp64", "half2", "integer", "special")
    assert tuple(model.rates[k] for k in keys) == THROUGHPUT[model.properties.compute_capability]
    assert (model.rates["schedulers"], model.rates["shared_bytes"]) == (4, 128)


@pytest.mark.parametrize("name", names())
def test_clocks_give_the_peaks_of_the_data_sheet(name: str) -> None:
    model, (bandwidth, fp32, tensor) = chip(name), SHEETS[name]
    p = model.properties
    assert 2 * p.memory_clock_mhz * 1e6 * p.memory_bus_bits / 8 == pytest.approx(bandwidth * 1e9, rel=0.03)
    clocks = 2 * p.multiprocessors * p.clock_mhz * 1e6
    assert clocks * model.rates["fp32"] == pytest.approx(fp32 * 1e12, rel=0.01)
    if tensor is not None:
        assert clocks * model.rates["tensor_f16_fma"] == pytest.approx(tensor * 1e12, rel=0.01)


@pytest.mark.parametrize("name", names())
def test_a_copy_reaches_part_of_the_bandwidth_and_memory_is_slower_the_further_away_it_is(name: str) -> None:
    model, bandwidth = chip(name), SHEETS[name][0]
    assert 0.6 < model.rates["dram_tb_per_s"] * 1e3 / bandwidth < 1
    latency = [model.latency[k] for k in ("shared", "l1", "l2", "dram")]
    assert latency == sorted(latency)


@pytest.mark.parametrize(
    ("name", "threads", "shared", "registers", "blocks"),
    [
        ("h200", 256, 0, 0, 8),  # 2048 threads / 256
        ("h200", 32, 0, 0, 32),  # 64 warps would fit, 32 blocks are allowed
        ("h200", 33, 0, 0, 32),  # two warps each: 2048 / 64
        ("h200", 1024, 0, 64, 1),  # 65536 registers / (1024 * 64)
        ("h200", 256, 0, 65, 3),  # 65 * 32 take 2304; 7 warps in each partition's 16384, 28 / 8
        ("h200", 96, 0, 40, 16),  # 40 * 32 = 1280; 12 warps in each partition, 48 / 3
        ("h200", 128, 100 * KB, 0, 2),  # 228 / (100 + 1)
        ("h200", 128, 227 * KB, 0, 1),  # all that a block may have
        ("h200", 128, 113 * KB, 0, 2),  # 228 / (113 + 1): exactly two
        ("h200", 128, 113 * KB + 1, 0, 1),
        ("a100", 128, 81 * KB, 0, 2),  # 164 / (81 + 1): exactly two
        ("a100", 256, 48 * KB, 32, 3),  # 164 / (48 + 1)
        ("rtx4090", 1024, 0, 0, 1),  # 1536 / 1024
        ("rtx4090", 256, 0, 0, 6),  # 1536 / 256
        ("rtx4090", 32, 0, 0, 24),
        ("t4", 256, 0, 0, 4),  # 1024 / 256
        ("t4", 128, 32 * KB, 0, 2),  # 64 / 32: nothing is reserved before 8.0
        ("t4", 32, 100, 0, 16),
        ("h200", 1024, 0, 255, 0),  # 255 registers for 1024 threads: no block fits
    ],
)
def test_occupancy_counts_blocks_as_the_hardware_does(
    name: str, threads: int, shared: int, registers: int, blocks: int
) -> None:
    assert chip(name).resident_blocks(threads, shared, registers) == blocks


def test_a_name_may_be_in_capitals() -> None:
    assert chip("H200") is not None
    assert chip("RTX4090").key == "rtx4090"


def test_an_unknown_chip_gets_the_nearest_name() -> None:
    with pytest.raises(ValueError, match="unknown chip 'h20'; did you mean 'h200'"):
        chip("h20")
    with pytest.raises(ValueError, match=r"unknown chip 'zzz'\. There are: " + ", ".join(names())):
        chip("zzz")
