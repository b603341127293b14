"""All layouts by their names: what a pointer in a layout, or a parameter `warp* warp` of a function, points to."""

from __future__ import annotations

from gridstride.virtual.abi.copy_queue import COPIES, COPY
from gridstride.virtual.abi.execution_records import BLOCK, CLUSTER, LAUNCH, SPLIT, WARP, WORKER
from gridstride.virtual.abi.finding_records import FINDING, PAIR
from gridstride.virtual.abi.grid_launches import CALLABLE, ERRORS, FAILURE, PENDING, QUEUE
from gridstride.virtual.abi.layout import Layout
from gridstride.virtual.abi.memory_records import ALLOCATION, HEAP, ORIGIN, SITE
from gridstride.virtual.abi.output_records import OUTPUT
from gridstride.virtual.abi.race_shadows import CLUSTER_RACE, EVENT, LANE_SHADOW, RACE, SHADOW
from gridstride.virtual.abi.tensor_map_layout import TENSOR
from gridstride.virtual.abi.texture_objects import OBJECT
from gridstride.virtual.abi.wgmma_flights import FLIGHT, FLIGHTS


def layouts_by_name(*layouts: Layout) -> dict[str, Layout]:
    """The layouts by their names; ValueError where two have the same."""
    table: dict[str, Layout] = {}
    for layout in layouts:
        if layout.name in table:
            raise ValueError(f"there is a layout {layout.name!r} already")
        table[layout.name] = layout
    return table


LAYOUTS = layouts_by_name(
    COPIES, COPY,
    WARP, BLOCK, CLUSTER, WORKER, LAUNCH, SPLIT,
    FINDING, PAIR,
    QUEUE, PENDING, FAILURE, CALLABLE, ERRORS,
    ALLOCATION, SITE, HEAP, ORIGIN,
    OUTPUT,
    RACE, LANE_SHADOW, SHADOW, EVENT, CLUSTER_RACE,
    TENSOR,
    OBJECT,
    FLIGHTS, FLIGHT,
)  # fmt: skip
"""Every layout by its name."""


def target_layout(layout: Layout, field: str) -> Layout | None:
    """What a field points to; None for what is no pointer, or one to bytes."""
    return LAYOUTS[layout.target[field]] if field in layout.target else None
