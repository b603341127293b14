"""What launches, findings and counters use of the device and of a kernel, both of which are put together above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gridstride.protocol import DeviceProperties, Dim3, LinkInput, ParameterLayout, Shape

if TYPE_CHECKING:
    from gridstride.virtual.chips import Chip
    from gridstride.virtual.machine.launch_queue import GridCount, LaunchQueue
    from gridstride.virtual.machine.memory.arena import Arena
    from gridstride.virtual.machine.memory.footprint import Footprint
    from gridstride.virtual.machine.memory.heap import Heap, Origin
    from gridstride.virtual.machine.memory.images import ObjectTable
    from gridstride.virtual.machine.memory.printf_buffer import PrintfBuffer
    from gridstride.virtual.machine.memory.shadow import Shadow
    from gridstride.virtual.machine.memory.touched import Touched
    from gridstride.virtual.machine.memory.uninitialised_map import Unset
    from gridstride.virtual.machine.observed_blocks import ObservedBlocks
    from gridstride.virtual.machine.schedule import Schedule
    from gridstride.virtual.machine.session import Session
    from gridstride.virtual.machine.variant import Variant
    from gridstride.virtual.ptx.module import PtxModule

Array = np.ndarray[Any, Any]


class VirtualDevice(Protocol):
    """A virtual GPU: its memory, what is kept beside it, and how it was set up."""

    chip: str
    model: Chip
    sanitize: bool
    schedule: Schedule | None
    time_limit: float
    stack: int
    heap: Heap
    unset: Unset
    output: PrintfBuffer
    own: set[int]
    callers: dict[int, tuple[str, int] | None]
    origins: list[Origin]
    child_grids: GridCount
    read_only: tuple[tuple[int, int], ...]
    footprints: list[Footprint] | None

    @property
    def lock(self) -> AbstractContextManager[Any]: ...
    @property
    def properties(self) -> DeviceProperties: ...
    @property
    def arena(self) -> Arena: ...
    @property
    def shadow(self) -> Shadow: ...
    @property
    def touched(self) -> Touched: ...
    @property
    def objects(self) -> ObjectTable: ...
    def allocate(self, nbytes: int, lead: int = 0, *, pages: bool = False) -> int: ...
    def free(self, address: int) -> None: ...
    def copy_in(self, address: int, host: Array) -> None: ...
    def copy_out(self, host: Array, address: int) -> None: ...


class LoadedModule(Protocol):
    """A module on a device."""

    text_digest: str

    @property
    def device(self) -> VirtualDevice: ...
    @property
    def pieces(self) -> tuple[LinkInput, ...]: ...
    @property
    def parsed(self) -> PtxModule: ...
    def variable_names(self) -> tuple[str, ...]: ...
    def global_address(self, name: str) -> tuple[int, int]: ...
    @property
    def texts(self) -> Mapping[str, str]: ...
    @property
    def launch_queue(self) -> LaunchQueue: ...


class LoadedKernel(Protocol):
    """A kernel of a module on a device. `labels` and `elements` are the names and element sizes of its parameters."""

    name: str
    title: str
    labels: tuple[str, ...]
    elements: tuple[int, ...]
    grid_of_clusters: bool

    @property
    def module(self) -> LoadedModule: ...
    @property
    def parameters(self) -> Sequence[ParameterLayout]: ...
    @property
    def required_cluster(self) -> Dim3 | None: ...
    def variant(self, block: Dim3, *, observed: bool = False) -> Variant: ...
    def prepare(self, variant: Variant, shape: Shape, observed: ObservedBlocks | None = None) -> Session: ...
    def refresh(self, session: Session) -> None: ...
    def run(
        self, session: Session, variant: Variant, shape: Shape, packed: bytes, *, limit: float | None = None
    ) -> None: ...
