"""How much memory a cache may take."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import torch

CPU_SHARE = 0.25  # of what is available: the machine is somebody's
CPU_MOST = 4 << 30
GPU_SHARE = 0.85  # of what is free once the weights are there; the rest is for activations and graphs
_CGROUP = Path("/sys/fs/cgroup")


def for_cache(device: torch.device) -> int:
    """Bytes that a cache may take on this device where nobody says how many."""
    if device.type == "cuda":
        return int(free(device) * GPU_SHARE)
    return min(int(free(device) * CPU_SHARE), CPU_MOST)


def free(device: torch.device) -> int:
    """Bytes that nobody uses on this device."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else available()


def available(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int:
    """Bytes of main memory that a process can have without others being swapped out, within its container's limit."""
    if not meminfo.exists():  # no Linux: half of what is built in
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    most_addresses, _ = resource.getrlimit(resource.RLIMIT_AS)  # ulimit -v
    if most_addresses != resource.RLIM_INFINITY:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        free = min(free, max(0, most_addresses - mapped))
    limit, used = cgroup / "memory.max", cgroup / "memory.current"
    if limit.exists() and used.exists() and (most := limit.read_text().strip()) != "max":
        free = min(free, max(0, int(most) - int(used.read_text())))
    return free
