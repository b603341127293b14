"""The figures of a whole timeline, by the names that lessons and JSON know them by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Totals:
    """Microseconds, all modelled. `modelled_us`: from the start of the first operation to the end of the last;
    `compute_us`, `to_device_us`, `to_host_us` and `to_peer_us`: in which that engine of any GPU is busy; `overlap_us`:
    in which two or more are; `idle_us`: of `modelled_us`, in which none is; `host_us`: the host's clock at the end,
    `host_waited_us` of it waiting. `unordered`: pairs of operations that touch the same bytes, one of them writing, and
    that nothing orders.
    `timed_us`: what cudaEventElapsedTime gave, all calls together; `timed_compute_us` of it with kernels under way, and
    `timed_kernels` that began and ended between the two events. `managed_allocations`: calls of cudaMallocManaged.
    `kernel_streams`: in so many streams were kernels, libraries' among them.
    """

    modelled_us: float = 0.0
    compute_us: float = 0.0
    to_device_us: float = 0.0
    to_host_us: float = 0.0
    to_peer_us: float = 0.0
    overlap_us: float = 0.0
    idle_us: float = 0.0
    host_us: float = 0.0
    host_waited_us: float = 0.0
    unordered: int = 0
    timed_us: float = 0.0
    timed_compute_us: float = 0.0
    timed_kernels: int = 0
    managed_allocations: int = 0
    kernel_streams: int = 0
