"""What a physical GPU is: its chip's name, and its limits and rates as the driver gives them."""

from __future__ import annotations

import re
from typing import Any

from gridstride.device.physical.driver import bindings, check
from gridstride.protocol import DeviceProperties

_PORTABLE_CLUSTER = 8  # blocks; CUDA C++ programming guide, thread block clusters
_CHIP = re.compile(r"rtx ?(?:pro ?)?\d+(?: ti| super)?|gtx ?\d+(?: ti)?|[a-z]+\d+[a-z]*")


def chip_of(name: str) -> str:
    """Chip-file name of a marketing name: "NVIDIA H100 80GB HBM3" is h100, "NVIDIA GeForce RTX 4090" rtx4090."""
    match = _CHIP.search(name.lower().replace("nvidia", ""))
    return match[0].replace(" ", "") if match else name.lower()


def properties_of(device: Any) -> DeviceProperties:
    """Limits and rates of one of cuda.core's devices."""
    p = device.properties
    capability = (int(p.compute_capability_major), int(p.compute_capability_minor))
    total = check(bindings().cuDeviceTotalMem(int(device.device_id)), "asking for the GPU's memory")
    return DeviceProperties(
        name=device.name,
        compute_capability=capability,
        multiprocessors=p.multiprocessor_count,
        max_threads_per_block=p.max_threads_per_block,
        max_block=(p.max_block_dim_x, p.max_block_dim_y, p.max_block_dim_z),
        max_grid=(p.max_grid_dim_x, p.max_grid_dim_y, p.max_grid_dim_z),
        max_cluster=_PORTABLE_CLUSTER if p.cluster_launch else 0,
        shared_per_block=p.max_shared_memory_per_block,
        shared_per_block_optin=p.max_shared_memory_per_block_optin,
        shared_per_multiprocessor=p.max_shared_memory_per_multiprocessor,
        registers_per_multiprocessor=p.max_registers_per_multiprocessor,
        max_threads_per_multiprocessor=p.max_threads_per_multiprocessor,
        max_blocks_per_multiprocessor=p.max_blocks_per_multiprocessor,
        warp_size=p.warp_size,
        total_memory=int(total),
        l2_bytes=p.l2_cache_size,
        clock_mhz=p.clock_rate / 1000,
        memory_clock_mhz=p.memory_clock_rate / 1000,
        memory_bus_bits=p.global_memory_bus_width,
    )
