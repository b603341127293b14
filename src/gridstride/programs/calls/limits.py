"""The limits of a device that a program may ask for and set: cudaDeviceGetLimit and cudaDeviceSetLimit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridstride.programs.calls.status import Status
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory.heap import Heap
from gridstride.virtual.machine.memory.printf_buffer import PrintfBuffer

_LIMITS = {0: "stack", 1: "printf", 2: "heap", 3: "depth", 4: "pending", 5: "fetch", 6: "persisting"}
"""By the number of cudaLimit."""
_MOST_STACK = 2**63 - 1  # bytes that a launch can be told
_DEPTH = 2  # levels of launches from kernels at which one may wait
_FETCH = 64  # bytes of an L2 fetch
RESET = 2
"""For `setting`: as runtime.h has it."""


class DeviceLimits:
    """What the program set, else what a device begins with. `catch_up` is called before one is set, which work that is
    put off is to run without.
    """

    def __init__(self, device: VirtualGPU, catch_up: Callable[[], object] = lambda: None) -> None:
        self.device, self._catch_up = device, catch_up
        self._set = {"depth": _DEPTH, "fetch": _FETCH, "persisting": 0}
        self._heap_use = device.heap.use()

    def limit(self, which: int, setting: int, value: Any) -> int:
        name = _LIMITS.get(which)
        if name is None:
            return Status.UNSUPPORTED_LIMIT
        device = self.device
        if not setting:
            current = {"printf": device.output.size, "heap": int(device.heap.record["size"][0])}
            current |= {"stack": device.stack, "pending": device.pending_launches}
            value[0] = (self._set | current)[name]
            return Status.SUCCESS
        self._catch_up()
        if setting == RESET:
            self._heap_use = device.heap.use()
        elif name == "heap" and device.heap.use() != self._heap_use:  # which kernels have used
            return Status.INVALID_VALUE
        elif name == "printf":
            device.output = PrintfBuffer(max(1, value[0]))
        elif name == "heap":
            device.heap = Heap(max(1, value[0]))
            self._heap_use = device.heap.use()
        elif name == "stack":
            device.stack = min(value[0], _MOST_STACK)
        elif name == "pending":
            device.pending_launches = max(1, value[0])
        else:
            self._set[name] = value[0]
        return Status.SUCCESS
