"""The physical GPU: memory, streams and modules through `cuda.core` and the CUDA driver.

Nothing of CUDA is imported before the first `PhysicalGPU` is made. Work goes to the stream of `with gs.stream():`, else
to the one that PyTorch holds current, if PyTorch has started CUDA in this process, else to the default stream.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from gridstride.device.current import current_stream, refuse_in_capture
from gridstride.device.mapped import is_mapped
from gridstride.device.physical.driver import bindings, check, core, current_context, newest_ptx, physical_count
from gridstride.device.physical.physical_graphs import PhysicalRecording
from gridstride.device.physical.physical_module import PhysicalModule
from gridstride.device.physical.physical_properties import chip_of, properties_of
from gridstride.device.physical.physical_streams import PhysicalEvent, PhysicalStream
from gridstride.protocol import DeviceError, DeviceLost, LinkInput, NoDevice

if TYPE_CHECKING:
    import numpy as np

_DEFAULT_STREAM = 1  # CU_STREAM_LEGACY


_OPENED: dict[int, PhysicalGPU] = {}  # a cache: one object for each GPU, so that arrays of one are arrays of the other


class PhysicalGPU:
    """One NVIDIA GPU of this machine, by its CUDA ordinal; the same object each time it is asked for.

    Raises NoDevice where there is no driver or no such GPU.
    """

    kind = "physical"

    def __new__(cls, ordinal: int = 0) -> Self:
        opened = _OPENED.get(ordinal)
        if not isinstance(opened, cls):
            opened = super().__new__(cls)
            opened._open(ordinal)
            _OPENED[ordinal] = opened
        return opened

    def _open(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self._lost: str | None = None
        self.captures: set[PhysicalRecording] = set()
        self._abandoned: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        driver = bindings()
        count = physical_count()
        if not 0 <= ordinal < count:
            raise NoDevice(f"there is no GPU {ordinal}: the NVIDIA driver shows {count} of them to this process")
        with self._restored_context():
            self._core = core().Device(ordinal)
            self._core.set_current()
            self._context = check(driver.cuCtxGetCurrent(), "opening the GPU")
        self._context_address = int(self._context)
        self.properties = properties_of(self._core)
        self.name = self.properties.name
        self.chip = chip_of(self.name)
        self.driver_version = int(check(driver.cuDriverGetVersion(), "asking for the driver's version"))

    def __repr__(self) -> str:
        return f"PhysicalGPU({self.ordinal}): {self.name}"

    @property
    def newest_ptx(self) -> tuple[int, int]:
        """Newest PTX ISA version that this driver compiles."""
        return newest_ptx(self.driver_version)

    def allocate(self, nbytes: int) -> int:
        """Address of `nbytes` of device memory; OutOfDeviceMemory."""
        doing = f"allocating {nbytes:,} bytes on {self.name} ({self.properties.total_memory:,} in all)"
        with self.current():
            return int(self.check(bindings().cuMemAlloc(max(nbytes, 1)), doing))

    def free(self, address: int) -> None:
        """Give memory back; waits for the work that may use it."""
        if self._lost:  # the driver took the memory back with the context
            return
        with self.current():
            self.check(bindings().cuMemFree(address), "freeing device memory")

    def allocate_pinned(self, nbytes: int) -> int:
        """Address of page-locked host memory, which unified addressing gives kernels under the same address."""
        doing = f"pinning {nbytes:,} bytes of host memory for {self.name}"
        driver = bindings()
        with self.current():
            flags = driver.CU_MEMHOSTALLOC_PORTABLE | driver.CU_MEMHOSTALLOC_DEVICEMAP
            return int(self.check(driver.cuMemHostAlloc(nbytes, flags), doing))

    def free_pinned(self, address: int) -> None:
        """Give pinned memory back, once copies and kernels that may still use it are done."""
        if self._lost:
            return
        with self.current():
            self.check(bindings().cuCtxSynchronize(), "freeing pinned memory")
            self.check(bindings().cuMemFreeHost(address), "freeing pinned memory")

    def allocate_managed(self, nbytes: int) -> int:
        """Address of memory whose pages go to who uses them, the host or a GPU."""
        doing = f"allocating {nbytes:,} bytes of managed memory on {self.name}"
        with self.current():
            flags = int(bindings().CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
            return int(self.check(bindings().cuMemAllocManaged(nbytes, flags), doing))

    def expose(self, address: int, nbytes: int) -> None:
        """Whoever has the address may write there."""

    def give_away(self, stream: int | None) -> None:
        """Let a CUDA stream of another library's begin later work behind what the current stream was given.

        As DLPack spells streams: -1 for one that needs no order, None and 1 for the default stream, 2 for the thread's.
        """
        taker = _DEFAULT_STREAM if stream in (None, 0) else stream
        if taker == -1 or taker == (self.current_stream() or _DEFAULT_STREAM):
            return
        done = self.event(timing=False)
        done.record()
        with self.current():
            self.check(bindings().cuStreamWaitEvent(taker, done.handle, 0), "giving an array to another library")

    def abandon(self, end: Callable[..., object], *args: object) -> None:
        """Call `end` of something that is gone; an error of a context that is lost has nobody to be told.

        Not while a stream captures: giving memory back waits for the whole GPU, which ends the capture.
        """
        if self.captures:
            self._abandoned.append((end, args))
            return
        with suppress(DeviceError):
            end(*args)

    def copy_in(self, address: int, host: np.ndarray[Any, Any]) -> None:
        """Copy a C-contiguous array to the device, in the order of the current stream."""
        if host.nbytes:
            copy = bindings().cuMemcpyHtoDAsync
            self._copy(
                copy, (address, host.ctypes.data, host.nbytes), f"copying {host.nbytes:,} bytes to {self.name}", host
            )

    def copy_within(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place on the device to another, in the order of the current stream."""
        if nbytes:
            copy = bindings().cuMemcpyDtoDAsync
            self._copy(copy, (target, source, nbytes), f"copying {nbytes:,} bytes within {self.name}", None)

    def copy_out(self, host: np.ndarray[Any, Any], address: int) -> None:
        """Fill a C-contiguous array from the device, in the order of the current stream."""
        if host.nbytes:
            copy = bindings().cuMemcpyDtoHAsync
            doing = f"copying {host.nbytes:,} bytes from {self.name}"
            self._copy(copy, (host.ctypes.data, address, host.nbytes), doing, host)

    def _copy(
        self, copy: Callable[..., Any], operands: tuple[int, int, int], doing: str, host: np.ndarray[Any, Any] | None
    ) -> None:
        """Copy, and wait for it; in an entered stream not where all the memory stays in place until it is done."""
        stream = self.current_stream()
        begins = current_stream(self) is not None and (host is None or is_mapped(self, host.ctypes.data, host.nbytes))
        with self.current():
            self.check(copy(*operands, stream), doing)
            if not begins:
                self.check(bindings().cuStreamSynchronize(stream), doing)

    def load(self, ptx: str, *, source: str | None = None, filename: str = "<ptx>") -> PhysicalModule:
        """Compile PTX with the driver and load it; DeviceError carries the driver's log."""
        with self.current():
            return PhysicalModule(self, (LinkInput(ptx, filename, source),))

    def link(self, pieces: Sequence[LinkInput]) -> PhysicalModule:
        """Link PTX texts with the driver and load the result; LinkError carries the linker's words."""
        with self.current():
            return PhysicalModule(self, pieces)

    @property
    def priorities(self) -> tuple[int, int]:
        """The least and the greatest priority of a stream; the lower number goes first."""
        with self.current():
            least, greatest = self.check(bindings().cuCtxGetStreamPriorityRange(), "asking for priorities of streams")
        return int(least), int(greatest)

    def stream(self, priority: int = 0) -> PhysicalStream:
        """A new stream, which keeps order with the default stream, as cudaStreamCreate's do."""
        with self.current():
            options = {"nonblocking": False, "priority": priority}
            return PhysicalStream(self, self._core.create_stream(options=options))

    def borrow_stream(self, handle: int) -> PhysicalStream:
        """A stream that another library owns (PyTorch, CuPy), by its CUstream."""
        return PhysicalStream(self, core().Stream.from_handle(handle))

    def event(self, timing: bool = True) -> PhysicalEvent:
        """A new event; one without `timing` costs the stream less."""
        return PhysicalEvent(self, timing)

    def recording(self) -> PhysicalRecording:
        """A new recording by stream capture."""
        return PhysicalRecording(self)

    def capturing_stream(self) -> PhysicalStream:
        """A new stream that keeps no order with the default stream, which nothing may wait for while it captures."""
        with self.current():
            return PhysicalStream(self, self._core.create_stream(options={"nonblocking": True}))

    def capture_ended(self, recording: PhysicalRecording) -> None:
        """Give back what went out of use meanwhile."""
        self.captures.discard(recording)
        while self._abandoned and not self.captures:
            end, args = self._abandoned.pop()
            self.abandon(end, *args)

    def synchronize(self) -> None:
        """Wait for all work on this GPU; DeviceLost when a kernel has failed."""
        refuse_in_capture("device.synchronize()", "wait behind graph.launch()")
        with self.current():
            self.check(bindings().cuCtxSynchronize(), f"waiting for {self.name}")

    def current_stream(self) -> int:
        """CUstream for work that names none: that of `with gs.stream():`, else PyTorch's current stream, else 0, the
        default stream.
        """
        entered = current_stream(self)
        if entered is not None:
            return entered.handle
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            return int(torch._C._cuda_getCurrentRawStream(self.ordinal))  # makes no object, unlike current_stream()
        return 0

    def check(self, result: tuple[Any, ...], doing: str) -> Any:
        """Value of a driver call on this GPU; remembers when the context is lost."""
        try:
            return check(result, doing)
        except DeviceLost as lost:
            self._lost = str(lost)
            raise

    @property
    def is_current(self) -> bool:
        """Whether this thread works in this GPU's context, and can."""
        return not self._lost and current_context() == self._context_address

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this GPU's context the thread's own for a moment; DeviceLost once a kernel ended it."""
        if self._lost:
            raise DeviceLost(self._lost)
        if self.is_current:
            yield
            return
        driver = bindings()
        check(driver.cuCtxPushCurrent(self._context), "switching to the GPU")
        try:
            yield
        finally:
            driver.cuCtxPopCurrent()

    @staticmethod
    @contextmanager
    def _restored_context() -> Iterator[None]:
        """Leave the thread with the context it had, if it had one, so that PyTorch's choice of GPU stands."""
        driver = bindings()
        previous_context = driver.cuCtxGetCurrent()[1]
        try:
            yield
        finally:
            if int(previous_context):
                driver.cuCtxSetCurrent(previous_context)
