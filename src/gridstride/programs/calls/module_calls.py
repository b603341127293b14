"""Modules of a program and their kernels and variables, as its runtime asks for them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from gridstride.programs.calls.fat_binary import NoPtx, ptx_at
from gridstride.programs.calls.memory_calls import MemoryCalls
from gridstride.programs.calls.peers import Peers
from gridstride.programs.calls.program_code import UNUSABLE, ProgramCode
from gridstride.programs.calls.runtime_records import KernelLayout
from gridstride.programs.calls.status import Status
from gridstride.programs.process.reports import Reports
from gridstride.protocol import LinkError, LinkInput, OutOfDeviceMemory
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.launch.virtual_module import VirtualModule
from gridstride.virtual.machine.memory.owners import EVERYONE
from gridstride.virtual.observe.registers import registers_of

MODULE_CALLS = (
    *("load", "load_code", "unload", "entry", "share", "kernel", "variable"),
    *("registers", "active_blocks", "active_clusters", "partition"),
)
"""The callbacks that are methods of ModuleCalls."""


class ModuleCalls:
    """What has been loaded. `catch_up` is called before a module goes, which work that is put off may need."""

    def __init__(
        self, device: VirtualGPU, reports: Reports, memory: MemoryCalls, peers: Peers, code: ProgramCode,
        catch_up: Callable[[], object],
    ) -> None:  # fmt: skip
        self.device, self.reports, self.memory = device, reports, memory
        self.kernels: list[VirtualKernel] = []
        self.partitions: list[tuple[int, ...] | None] = [None]
        """Multiprocessors by the number that a context calls them by; of the whole GPU 0."""
        self._peers, self._code, self._catch_up = peers, code, catch_up
        self._lock = threading.RLock()
        self._modules: dict[int, VirtualModule] = {}
        self._handles: list[Any] = []

    def load(self, images: Any, count: int, device: int, module: Any) -> int:
        with self._lock:
            try:
                texts = [ptx_at(images[number]) for number in range(count)]
                names = ["<ptx>"] if count == 1 else [f"<object {n}>" for n in range(count)]
                return self._load(
                    [LinkInput(text, name) for text, name in zip(texts, names, strict=True)], device, module
                )
            except (NoPtx, LinkError, *UNUSABLE) as error:
                self.reports.say(f"the program's kernels cannot be loaded: {error}")
                return Status.NO_KERNEL_IMAGE
            except OutOfDeviceMemory:
                return Status.MEMORY_ALLOCATION

    def _load(self, pieces: list[LinkInput], device: int, module: Any) -> int:
        loaded = self.device.load(pieces[0].ptx) if len(pieces) == 1 else self.device.link(pieces)
        if sum(nbytes for _, nbytes in loaded.variables()) > self.memory.left(device):
            loaded.release()
            return Status.MEMORY_ALLOCATION
        module[0] = number = len(self._handles)
        self._modules[number] = loaded
        for address, nbytes in loaded.variables():
            self._peers.allocated(address, nbytes, device)
        self._handles.append(number)
        return Status.SUCCESS

    def load_code(self, code: int, device: int, module: Any, log: int, room: int) -> int:
        with self._lock:
            try:
                return self._load(self._code.pieces(code), device, module)
            except (LinkError, OutOfDeviceMemory, *UNUSABLE) as error:
                return self._code.refused(error, log or 0, room)

    def entry(self, module: int, number: int) -> int:
        """Address of the name of a module's kernel; 0 behind the last."""
        names = list(self._modules[module].kernels)
        if number >= len(names):
            return 0
        name = ctypes.create_string_buffer(names[number].encode())
        self._handles.append(name)
        return ctypes.addressof(name)

    def unload(self, module: int) -> None:
        self._catch_up()
        with self._lock:
            gone = self._modules.pop(module)
            for address, _ in gone.variables():
                self._peers.freed(address)
            gone.release()

    def share(self, module: int, name: bytes, address: int) -> None:
        with self._lock:
            loaded, variable = self._modules[module], name.decode()
            own, nbytes = loaded.global_address(variable)
            self._peers.freed(own)
            if own == address:
                self._peers.allocated(address, nbytes, EVERYONE)
                if self.memory.on_allocation is not None:
                    self.memory.on_allocation(address, nbytes, True)
            else:
                loaded.share(variable, address)

    def kernel(self, module: int, name: bytes, layout: Any) -> int:
        kernel = self._modules[module].kernels.get(name.decode())
        if kernel is None:
            return Status.INVALID_DEVICE_FUNCTION
        offsets = (ctypes.c_uint32 * len(kernel.parameters))(*(p.offset for p in kernel.parameters))
        sizes = (ctypes.c_uint32 * len(kernel.parameters))(*(p.size for p in kernel.parameters))
        self._handles += [offsets, sizes]
        layout[0] = KernelLayout(
            len(self.kernels), len(kernel.parameters), ctypes.addressof(offsets), ctypes.addressof(sizes),
            kernel.parameter_bytes, kernel.static_shared, kernel.local_bytes,
            kernel.module.constant_bytes, kernel.max_threads,
            (ctypes.c_int64 * 3)(*(kernel.required_cluster or (0, 0, 0))),
        )  # fmt: skip
        self.kernels.append(kernel)
        return Status.SUCCESS

    def variable(self, module: int, name: bytes, address: Any, nbytes: Any) -> int:
        try:
            address[0], nbytes[0] = self._modules[module].global_address(name.decode())
        except KeyError:
            return Status.INVALID_SYMBOL
        return Status.SUCCESS

    def registers(self, number: int) -> int:
        kernel = self.kernels[number]
        module = kernel.module
        ptx = module.pieces[0].ptx if len(module.pieces) == 1 else None
        arch = self.device.properties.arch
        return registers_of(ptx, module.text_digest, lambda: module.parsed, kernel.name, arch).count

    def active_blocks(self, number: int, threads: int, dynamic: int) -> int:
        if threads > self.device.properties.max_threads_per_block:
            return 0
        shared = self.kernels[number].static_shared + dynamic
        return self.device.model.resident_blocks(threads, shared, self.registers(number))

    def active_clusters(self, number: int, threads: int, dynamic: int, blocks: int, partition: int) -> int:
        multiprocessors = self.device.model.part(self.partitions[partition]).properties.multiprocessors
        return self.active_blocks(number, threads, dynamic) * multiprocessors // max(1, blocks)

    def partition(self, numbers: Any, count: int) -> int:
        """A number for some multiprocessors, by which launches in them call them."""
        self.partitions.append(tuple(numbers[:count]))
        return len(self.partitions) - 1
