"""What launches use of the device, which is put together above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gridstride.protocol import Dim3
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.machine.interfaces import VirtualDevice
from gridstride.virtual.machine.session import WorkerMemory
from gridstride.virtual.machine.variant import Tables
from gridstride.virtual.machine.workers import Helpers


class LaunchingDevice(VirtualDevice, Protocol):
    """A device with what launches are run by."""

    workers: int
    rooms: list[WorkerMemory]
    helpers: Helpers
    seed: int | None
    pending_launches: int
    faults: list[KernelFault]

    @property
    def grid_workspace(self) -> int: ...
    def reset_workspace(self) -> None: ...
    def engine_run(self, worker: int) -> None: ...
    def origin_of(self, kernel: str, tables: Tables, block: Dim3) -> int: ...
    def keep(self, fault: KernelFault) -> None: ...
    def abandon(self, end: Callable[..., object], *args: object) -> None: ...
