"""The functions that write the runtime, in the order in which they do."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.ir.builder import IrModule
from gridstride.virtual.runtime.copies.async_copy_queue import emit_queue
from gridstride.virtual.runtime.copies.copies import emit_copies
from gridstride.virtual.runtime.copies.matrix_descriptors import emit_descriptors
from gridstride.virtual.runtime.copies.mbarrier_phases import emit_mbarrier
from gridstride.virtual.runtime.copies.multicast import emit_multicast
from gridstride.virtual.runtime.copies.tensor import emit_tensor
from gridstride.virtual.runtime.device_runtime.device_launches import emit_launches
from gridstride.virtual.runtime.memory.address_checks import emit_memory
from gridstride.virtual.runtime.memory.cluster_memory import emit_cluster_memory
from gridstride.virtual.runtime.memory.device_malloc import emit_heap
from gridstride.virtual.runtime.memory.printf_records import emit_output
from gridstride.virtual.runtime.memory.reduce import emit_reduce
from gridstride.virtual.runtime.observed_accesses import emit_observe
from gridstride.virtual.runtime.sanitize.async_proxy_checks import emit_proxy
from gridstride.virtual.runtime.sanitize.clocks import emit_stamps
from gridstride.virtual.runtime.sanitize.cluster_clocks import emit_cluster_clocks
from gridstride.virtual.runtime.sanitize.cluster_orders import emit_cluster_orders
from gridstride.virtual.runtime.sanitize.cluster_races import emit_cluster_races
from gridstride.virtual.runtime.sanitize.copy_races import emit_copy_races
from gridstride.virtual.runtime.sanitize.global_races import emit_global_races
from gridstride.virtual.runtime.sanitize.phase_orders import emit_phase_orders
from gridstride.virtual.runtime.sanitize.race_pairs import emit_pairs
from gridstride.virtual.runtime.sanitize.shared_lane_races import emit_lanes
from gridstride.virtual.runtime.sanitize.uninitialised.uninitialised_reads import emit_unset
from gridstride.virtual.runtime.sanitize.wgmma_checks import emit_warpgroup
from gridstride.virtual.runtime.schedule.cluster_barrier import emit_cluster_barrier
from gridstride.virtual.runtime.schedule.cluster_blocks import emit_clusters
from gridstride.virtual.runtime.schedule.scheduler import emit_scheduler
from gridstride.virtual.runtime.schedule.wgmma_groups import emit_warpgroups
from gridstride.virtual.runtime.texture.texture_runtime import emit_textures

EmitRuntime = Callable[[IrModule], None]

CORE: tuple[EmitRuntime, ...] = (
    emit_memory, emit_observe, emit_output, emit_heap, emit_stamps, emit_global_races, emit_pairs, emit_unset,
)  # fmt: skip
"""Behind the scheduler: what every launch needs, and what observed ones spend their time in."""

RARE: tuple[EmitRuntime, ...] = (
    emit_mbarrier, emit_copies, emit_queue, emit_proxy, emit_reduce, emit_tensor, emit_clusters,
    emit_cluster_barrier, emit_cluster_memory, emit_multicast, emit_cluster_clocks, emit_cluster_races,
    emit_cluster_orders, emit_textures, emit_descriptors, emit_warpgroups, emit_warpgroup, emit_launches,
    emit_lanes, emit_phase_orders, emit_copy_races,
)  # fmt: skip
"""What few kernels use, compiled when one does: no core one calls it."""

__all__ = ["CORE", "RARE", "emit_scheduler"]
