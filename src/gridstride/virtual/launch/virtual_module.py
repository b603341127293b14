"""A PTX module on the virtual GPU: its variables in the arena, its kernels ready to launch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np

from gridstride.protocol import DeviceError, LinkInput
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.launch.launching_device import LaunchingDevice
from gridstride.virtual.launch.linking import check_target, linked
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.machine.launch_queue import LaunchQueue
from gridstride.virtual.machine.summary import Placed, summary
from gridstride.virtual.machine.variant import digest
from gridstride.virtual.ptx.module import PtxModule

CONSTANT_BYTES = 64 << 10
"""Constants of a module that the assembler accepts on every chip (CUDA C++ Programming Guide, compute capabilities)."""


class VirtualModule:
    """PTX with its variables allocated. The text is parsed where it is new, or where a kernel must be compiled."""

    def __init__(self, device: LaunchingDevice, pieces: tuple[LinkInput, ...]) -> None:
        self.device, self.pieces = device, pieces
        for piece in pieces:
            check_target(piece.ptx, device.properties)
        self.text_digest = digest("\0".join(p.ptx if len(pieces) == 1 else f"{p.filename}\0{p.ptx}" for p in pieces))
        self._parse: Callable[[], PtxModule] = functools.cache(lambda: linked(pieces))
        self._addresses: dict[str, tuple[int, int]] = {}
        self._shared: set[str] = set()
        module_summary = summary(self.text_digest, self._parse)
        if module_summary.constants > CONSTANT_BYTES:
            raise DeviceError(
                f"{pieces[0].filename} has {module_summary.constants:,} bytes of __constant__ variables, a module "
                "may have "
                f"{CONSTANT_BYTES:,}: put the larger ones into __device__ memory"
            )
        self._entries = module_summary.entries
        self.constant_bytes = module_summary.constants
        """Bytes of its __constant__ variables."""
        self._allocate(module_summary.variables)
        self.kernels: Mapping[str, VirtualKernel] = {e.name: VirtualKernel(self, e) for e in module_summary.entries}

    @property
    def parsed(self) -> PtxModule:
        """The typed module."""
        return self._parse()

    @property
    def texts(self) -> dict[str, str]:
        """The source of each file, where there are several."""
        return {p.filename: p.source for p in self.pieces if p.source} if len(self.pieces) > 1 else {}

    def source_of(self, findings: tuple[KernelFinding, ...]) -> str | None:
        """The text that the first of the findings is about, as far as it is at hand."""
        return self.texts.get(findings[0].file or "") if len(self.pieces) > 1 else self.pieces[0].source

    def global_address(self, name: str) -> tuple[int, int]:
        """Address and bytes of a module-scope variable; KeyError when there is none."""
        return self._addresses[name]

    def variables(self) -> list[tuple[int, int]]:
        """Address and bytes of each variable that is this module's own."""
        return [address for name, address in self._addresses.items() if name not in self._shared]

    def variable_names(self) -> tuple[str, ...]:
        """Its variables, those included that lie where another module's do."""
        return tuple(self._addresses)

    def written(self, most: int) -> dict[str, tuple[int, int]]:
        """Bytes of each variable of its own that has not more than `most`, and behind which of them the last observed
        launch wrote none.
        """
        own = {n: (at, size) for n, (at, size) in self._addresses.items() if n not in self._shared and size <= most}
        ends = self.device.shadow.ends_of_writes(tuple(own.values()))
        return {name: (size, end) for (name, (_, size)), end in zip(own.items(), ends, strict=True)}

    @functools.cached_property
    def launch_queue(self) -> LaunchQueue:
        """Where this module's kernels leave what they launch."""
        return LaunchQueue(self.device, self._entries, self.device.pending_launches)

    def kernel_number(self, number: int) -> VirtualKernel:
        """The kernel that a function pointer's number stands for."""
        return next(k for k in self.kernels.values() if k.number == number)

    def address(self, key: str) -> int:
        return self._addresses[key][0]

    def _allocate(self, variables: tuple[Placed, ...]) -> None:
        for v in variables:
            # under the sanitizer with pages to itself: the host's use of a managed one is seen by pages
            address = self.device.allocate(max(1, v.size), pages=self.device.sanitize)
            self._addresses[v.key] = address, v.size
            self.device.own.add(self.address(v.key))
        for v in variables:
            data = bytearray(v.data.ljust(max(1, v.size), b"\0"))
            for p in v.pointers:
                data[p.offset : p.offset + p.size] = p.value(self.address(p.target))
            self.device.copy_in(self.address(v.key), np.frombuffer(data, np.uint8))

    def share(self, name: str, address: int) -> None:
        """Has a variable lie where another module's does, which keeps it."""
        own, size = self._addresses[name]
        self.device.free(own)
        self._addresses[name] = address, size
        self._shared.add(name)

    def release(self) -> None:
        """Gives the variables' memory back."""
        for name, (address, _) in self._addresses.items():
            if name not in self._shared:
                self.device.free(address)
        self._addresses.clear()
        if "launch_queue" in self.__dict__:
            self.launch_queue.release()

    def __del__(self) -> None:
        if getattr(self, "_addresses", None):
            self.device.abandon(self.release)
