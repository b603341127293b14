"""What every device answers: the one protocol behind which the physical and the virtual GPU stand.

This file imports nothing of GridStride but how errors are shown, so that both machines may build on its types.
Dimensions are (x, y, z), sizes are bytes, times are milliseconds unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gridstride.one_message import OneMessage

if TYPE_CHECKING:
    import numpy as np

Dim3 = tuple[int, int, int]


class DeviceError(OneMessage, RuntimeError):
    """Something the device or its driver refused; the message says what to do."""


class NoDevice(DeviceError):
    """The device asked for is not on this machine."""


class DeviceLost(DeviceError):
    """A kernel fault ended the CUDA context: nothing more runs on this GPU in this process."""


class OutOfDeviceMemory(DeviceError, MemoryError):
    """An allocation larger than what is free on the device."""


class OutOfAddressSpace(OneMessage, MemoryError):
    """A limit of this process's keeps the virtual GPU from reserving what it needs; the message names it.

    No DeviceError: no kernel is to blame, and no verdict can be given.
    """


class RacesNotWatched(UserWarning):
    """A launch under the sanitizer for whose shadow of global memory there is no room."""


class LaunchError(OneMessage, ValueError):
    """A launch refused before anything ran; the message names the parameter, the value and the limit."""


class LinkError(OneMessage, ValueError):
    """Files that do not fit together: a symbol defined nowhere or twice, or declared otherwise than defined."""


class UnknownName(OneMessage, LookupError):
    """A kernel, template or symbol that the module does not hold; the message gives the nearest name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProperties:
    """The limits and rates of one chip, as its data sheet or its driver gives them."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    max_threads_per_block: int
    max_block: Dim3
    max_grid: Dim3
    max_cluster: int  # blocks in a cluster that every chip of this capability accepts; 0 without clusters
    shared_per_block: int  # bytes of static shared memory that a kernel may declare
    shared_per_block_optin: int  # static and dynamic together, once the kernel has opted in
    shared_per_multiprocessor: int
    registers_per_multiprocessor: int
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    warp_size: int
    total_memory: int
    l2_bytes: int
    clock_mhz: float
    memory_clock_mhz: float
    memory_bus_bits: int

    @property
    def arch(self) -> str:
        """Compiler target; from capability 9.0 on the chip's own one, which carries wgmma and the like."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a launch: dimensions (x, y, z), dynamic shared bytes, and how its blocks belong together.

    `dependent`: the kernel may begin before those in front of it in the stream have ended, and waits for them itself
    (griddepcontrol.wait). The virtual GPU ends one launch before it begins the next. `multiprocessors`: the numbers of
    those that it may run on (a green context's); None for all.
    """

    grid: Dim3
    block: Dim3
    shared: int = 0
    cooperative: bool = False
    cluster: Dim3 | None = None
    dependent: bool = False
    multiprocessors: tuple[int, ...] | None = None

    @property
    def blocks(self) -> int:
        """In the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """In a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True, slots=True)
class ParameterLayout:
    """Where one kernel parameter lies in the packed parameters, as the PTX declares it."""

    offset: int
    size: int
    align: int
    type: str  # "u32", "f32", "u64", or "b8[16]" for a struct
    pointer: bool = False  # the PTX marks it .ptr


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """The texels that textures and surfaces see: a CUDA array, or linear memory. A size is 0 where there is none.

    `dtype` is NumPy's name of a channel; a cubemap has six faces (in each layer). `pitch` is the bytes from row to row
    of linear memory, 0 for a CUDA array.
    """

    dtype: str
    channels: int
    width: int
    height: int = 0
    depth: int = 0
    layers: int = 0
    cubemap: bool = False
    levels: int = 1
    surface: bool = False
    pitch: int = 0


@dataclass(frozen=True, slots=True)
class TensorMapLayout:
    """What a tensor map holds, from the dimension that varies fastest; strides in bytes from the second on.

    `corners`: lower and upper, for im2col; `box` is then channels per pixel and pixels per column.
    """

    type: str
    sizes: Sequence[int]
    strides: Sequence[int]
    box: Sequence[int]
    steps: Sequence[int]
    swizzle: int = 0
    interleave: int = 0
    nan: bool = False
    corners: tuple[Sequence[int], Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class TextureSampling:
    """How a texture object reads its texels, in the words of `gridstride.texture`."""

    address: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    filter: str = "point"
    normalized: bool = False
    read: str = "element"
    srgb: bool = False
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    mipmap_filter: str = "point"
    lod_bias: float = 0.0
    lod_range: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LinkInput:
    """One PTX text among those linked into a module; `source` is what to show beside a finding in it."""

    ptx: str
    filename: str
    source: str | None = None


@runtime_checkable
class Event(Protocol):
    """A point in a stream's work."""

    def record(self, stream: Stream | None = None) -> None:
        """Mark the work given to `stream` (None: the device's current stream) so far."""

    def synchronize(self) -> None:
        """Wait until the marked work is done."""

    @property
    def done(self) -> bool:
        """Whether the marked work is done."""

    def elapsed_ms(self, start: Event) -> float:
        """Milliseconds of device time from `start` to this event; waits for both."""


@runtime_checkable
class Stream(Protocol):
    """A queue whose work runs in order."""

    @property
    def handle(self) -> int:
        """The CUstream on a physical GPU; any number that tells streams apart elsewhere."""

    def synchronize(self) -> None:
        """Wait until all the work given to the stream is done."""

    @property
    def done(self) -> bool:
        """Whether all the work given to the stream is done."""

    def wait(self, event: Event) -> None:
        """Let the stream's later work begin only once `event` is done."""


@runtime_checkable
class Recording(Protocol):
    """Work that is taken down to be run later, as often as one likes."""

    def add(self, work: Callable[[], None]) -> None:
        """Take down what `work` gives the device."""

    def end(self) -> None:
        """No more is taken down; from here on it can be launched."""

    def give_up(self) -> None:
        """Nothing will come of it."""

    def launch(self, stream: Stream | None) -> None:
        """Run it in `stream` (None: the device's current stream); a physical GPU returns before it is done."""


@runtime_checkable
class DeviceKernel(Protocol):
    """One entry of a loaded module. A virtual kernel also has `observe(shape, packed) -> Run`."""

    @property
    def name(self) -> str:
        """The entry's name in the PTX."""

    @property
    def parameters(self) -> tuple[ParameterLayout, ...]:
        """Where each parameter lies in `packed`."""

    @property
    def static_shared(self) -> int:
        """Bytes of shared memory that the kernel itself declares."""

    @property
    def max_threads(self) -> int:
        """Most threads a block of this kernel may have (.maxntid, registers, the chip)."""

    def launch(self, shape: Shape, packed: bytes, stream: Stream | None = None) -> None:
        """Run the kernel over a grid with `packed` parameters; a physical GPU returns before it has run."""


@runtime_checkable
class DeviceModule(Protocol):
    """PTX loaded on a device."""

    @property
    def kernels(self) -> Mapping[str, DeviceKernel]:
        """The entries by their PTX names."""

    def global_address(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a module-scope variable; KeyError when there is none."""


@runtime_checkable
class Device(Protocol):
    """A GPU, physical or virtual."""

    @property
    def name(self) -> str:
        """What to call it in a message, e.g. "NVIDIA H200" or "virtual h200"."""

    @property
    def kind(self) -> str:
        """One of "virtual" and "physical"."""

    @property
    def chip(self) -> str:
        """The chip file that describes it, e.g. "h200"."""

    @property
    def properties(self) -> DeviceProperties:
        """Limits and rates."""

    def allocate(self, nbytes: int) -> int:
        """Address of fresh device memory, 256-byte aligned; OutOfDeviceMemory."""

    def free(self, address: int) -> None:
        """Give back what `allocate` gave."""

    def allocate_pinned(self, nbytes: int) -> int:
        """Address of fresh host memory that kernels reach under the same address; OutOfDeviceMemory."""

    def free_pinned(self, address: int) -> None:
        """Give back what `allocate_pinned` gave, once work that may use it is done."""

    def allocate_managed(self, nbytes: int) -> int:
        """Address of fresh memory that the host and kernels reach, to be given back by `free`; OutOfDeviceMemory."""

    def expose(self, address: int, nbytes: int) -> None:
        """Other libraries of this process may write to this memory from now on."""

    def give_away(self, stream: int | None) -> None:
        """Let what another library does in `stream` (as DLPack spells it) see the work given so far."""

    def abandon(self, end: Callable[..., object], *args: object) -> None:
        """Call `end` of something that is gone, soon and without an error: what finalizers do."""

    def copy_in(self, address: int, host: np.ndarray[Any, Any]) -> None:
        """Copy a C-contiguous array to the device; returns when it has arrived."""

    def copy_out(self, host: np.ndarray[Any, Any], address: int) -> None:
        """Fill a C-contiguous array from the device; returns when it is there."""

    def copy_within(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes from one place on the device to another; returns when they are there."""

    def load(self, ptx: str, *, source: str | None = None, filename: str = "<ptx>") -> DeviceModule:
        """Make PTX runnable here."""

    def link(self, pieces: Sequence[LinkInput]) -> DeviceModule:
        """Make one module of several PTX texts; LinkError where their symbols do not fit together."""

    @property
    def priorities(self) -> tuple[int, int]:
        """The least and the greatest priority of a stream; the lower number goes first."""

    def stream(self, priority: int = 0) -> Stream:
        """A new stream, of a priority within `priorities`."""

    def event(self, timing: bool = True) -> Event:
        """A new event; without `timing`, `elapsed_ms` is not to be asked of it."""

    def recording(self) -> Recording:
        """A new recording, which takes work down from here on."""

    def synchronize(self) -> None:
        """Wait for all work given to the device; faults of earlier launches are raised here."""
