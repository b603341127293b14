"""What a program's launches look like from inside: counters by source line, what a warp touches, the way of one warp.

For that a launch is made three times: once as it is, counted, and before it twice with probes in its code, after each
of which the device's memory is put back. Nothing is asked of the program but that it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridstride.judge.execution import lane_timeline, probe
from gridstride.judge.execution.access_map import AccessProbes, WarpAccess
from gridstride.judge.execution.lane_timeline import TimelineStep
from gridstride.judge.sandbox import records, run_records
from gridstride.protocol import DeviceError, LaunchError, Shape
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.observe.run import ObservedRun
from gridstride.virtual.ptx.syntax_errors import PtxError

MOST = 6
"""Launches that get pictures: the first of each kernel in each shape."""
_MOST_BYTES = 256 << 20  # of the device's memory that is put back after a launch with probes
_UNSEEN = (DeviceError, LaunchError, KernelFault, UnsupportedInstruction, PtxError, MemoryError)


class _Memory(NamedTuple):
    address: int
    nbytes: int


@dataclass(slots=True)
class _Pictured:
    kernel: VirtualKernel
    shape: Shape
    accesses: tuple[WarpAccess, ...]
    way: tuple[TimelineStep, ...]
    run: ObservedRun | None = None
    launches: int = 0
    us: float = 0.0

    def words(self) -> dict[str, Any]:
        assert self.run is not None
        shape = [list(self.shape.grid), list(self.shape.block), self.shape.shared]
        return {"shape": shape, "launches": self.launches, "us": self.us,
                "run": run_records.run_words(self.run, self.kernel),
                "accesses": [records.access_words(access) for access in self.accesses],
                "way": [records.step_words(step) for step in self.way]}  # fmt: skip


class LaunchPictures:
    """Of one program, kept until it ends."""

    def __init__(self, device: VirtualGPU) -> None:
        self._device = device
        self._pictures: dict[tuple[str, Shape], _Pictured] = {}

    def before(self, kernel: VirtualKernel, shape: Shape, packed: bytes) -> None:
        """Of a launch that is about to be made: what it touches and where it goes, the first time."""
        key = (kernel.name, shape)
        if key not in self._pictures and len(self._pictures) < MOST:
            self._pictures[key] = _Pictured(kernel, shape, self._accesses(kernel, shape, packed),
                                         self._way(kernel, shape, packed))  # fmt: skip

    def counted(self, kernel: VirtualKernel, shape: Shape, run: ObservedRun) -> None:
        """What the counted launch gave; the longest of them stands for all."""
        picture = self._pictures.get((kernel.name, shape))
        if picture is not None and (picture.run is None or run.predicted.ms > picture.run.predicted.ms):
            picture.run = run

    def took(self, kernel: VirtualKernel, shape: Shape, us: float) -> None:
        """One launch more, and its modelled microseconds."""
        picture = self._pictures.get((kernel.name, shape))
        if picture is not None:
            picture.launches += 1
            picture.us += us

    def words(self) -> list[Mapping[str, Any]]:
        """All of it, for who started the program."""
        return [picture.words() for picture in self._pictures.values() if picture.run is not None]

    # -- inside -------------------------------------------------------------------------------------------------------
    def _accesses(self, kernel: VirtualKernel, shape: Shape, packed: bytes) -> tuple[WarpAccess, ...]:
        module = kernel.module
        if len(module.pieces) != 1:
            return ()
        probes = AccessProbes(module.parsed, kernel.name, shape.grid, None)
        if not probes.sites:
            return ()
        text = probe.probed(module.pieces[0].ptx, module.parsed, kernel.name, probes.sites, probes.size, probes.code)
        trace = self._launched(kernel, text, shape, packed)
        return probes.read(trace, list(self._arrays(kernel, packed))) if trace is not None else ()

    def _way(self, kernel: VirtualKernel, shape: Shape, packed: bytes) -> tuple[TimelineStep, ...]:
        module = kernel.module
        if len(module.pieces) != 1:
            return ()
        stretches = lane_timeline.stretches(module.parsed.functions[kernel.name])
        trace = self._launched(kernel, lane_timeline.with_probes(module.pieces[0].ptx, stretches), shape, packed)
        return lane_timeline.read(trace, stretches) if trace is not None else ()

    def _launched(
        self, kernel: VirtualKernel, text: str, shape: Shape, packed: bytes
    ) -> np.ndarray[Any, Any] | None:  # fmt: skip
        """What the probes' variable holds after a launch of this text in the kernel's place; None where it cannot be
        launched so, as by a kernel that faults.
        """
        device, module = self._device, kernel.module
        if sum(size for _, size in device.arena.live()) > _MOST_BYTES:
            return None
        faults = len(device.faults)
        try:
            with _put_back(device):
                probed = device.load(text)
                try:
                    for name in module.variable_names():
                        probed.share(name, module.global_address(name)[0])
                    probed.kernels[kernel.name].launch(shape, packed)
                    address, size = probed.global_address(probe.VARIABLE)
                    return device.arena.view(address, size).copy()
                finally:
                    probed.release()
        except _UNSEEN:
            del device.faults[faults:]
            return None

    def _arrays(self, kernel: VirtualKernel, packed: bytes) -> Iterator[tuple[str, _Memory]]:
        """The allocations that the parameters point into, by the parameters' numbers."""
        for number, parameter in enumerate(kernel.parameters):
            if parameter.size != 8:
                continue
            address = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
            near = self._device.arena.nearest(address)
            if near is not None and near.start <= address < near.start + near.size:
                yield f"argument {number}", _Memory(address, near.start + near.size - address)


@contextmanager
def _put_back(device: VirtualGPU) -> Iterator[None]:
    """Inside, kernels may write what they like: afterwards the device's memory holds what it did."""
    saved: Sequence[tuple[int, np.ndarray[Any, Any]]] = [
        (start, device.arena.view(start, size).copy()) for start, size in device.arena.live()
    ]
    try:
        yield
    finally:
        for start, data in saved:
            device.arena.view(start, len(data))[:] = data
