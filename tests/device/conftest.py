"""A device in memory that runs Python functions as kernels, so that what a launch does with arguments can be seen."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.device.launch.entries import entry_parameters
from gridstride.device.physical.driver import physical_count
from gridstride.protocol import DeviceProperties, OutOfDeviceMemory, ParameterLayout, Shape

H200 = DeviceProperties(
    name="fake h200",
    compute_capability=(9, 0),
    multiprocessors=132,
    max_threads_per_block=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65535, 65535),
    max_cluster=8,
    shared_per_block=48 * 1024,
    shared_per_block_optin=227 * 1024,
    shared_per_multiprocessor=228 * 1024,
    registers_per_multiprocessor=65536,
    max_threads_per_multiprocessor=2048,
    max_blocks_per_multiprocessor=32,
    warp_size=32,
    total_memory=1 << 20,
    l2_bytes=50 << 20,
    clock_mhz=1980.0,
    memory_clock_mhz=3201.0,
    memory_bus_bits=6144,
)
_CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f32": "f", "f64": "d"}


@dataclass(frozen=True)
class Launch:
    """What a fake kernel was launched with; `values` are the raw fields, structs as bytes."""

    name: str
    shape: Shape
    values: tuple[Any, ...]
    stream: Any


@dataclass
class FakeKernel:
    device: FakeDevice
    name: str
    parameters: tuple[ParameterLayout, ...]
    static_shared: int = 0
    max_threads: int = 1024

    def launch(self, shape, packed, stream=None) -> None:
        values = tuple(self._value(packed, each) for each in self.parameters)
        self.device.launches.append(Launch(self.name, shape, values, stream))
        self.device.run(self.device, *values)

    def observe(self, shape, packed) -> str:
        self.launch(shape, packed)
        return "the run"

    @staticmethod
    def _value(packed: bytes, layout: ParameterLayout) -> Any:
        raw = packed[layout.offset : layout.offset + layout.size]
        code = _CODES.get(layout.type)
        return struct.unpack(f"<{code}", raw)[0] if code else raw


@dataclass
class FakeModule:
    kernels: dict[str, FakeKernel]
    device: FakeDevice

    def global_address(self, name: str) -> tuple[int, int]:
        return self.device.symbols[name]


@dataclass(eq=False)
class FakeDevice:
    """Memory as one bytearray; allocations are 256-byte aligned, never reused, and counted."""

    name: str = "fake"
    kind: str = "virtual"
    chip: str = "h200"
    properties: DeviceProperties = H200
    run: Callable[..., None] = lambda *_: None
    launches: list[Launch] = field(default_factory=list)
    live: dict[int, int] = field(default_factory=dict)
    copied_in: list[tuple[int, int]] = field(default_factory=list)
    copied_out: list[tuple[int, int]] = field(default_factory=list)
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    static_shared: int = 0
    max_threads: int = 1024

    def __post_init__(self) -> None:
        self.memory = bytearray(self.properties.total_memory)
        self._top = 256

    def allocate(self, nbytes: int) -> int:
        if self._top + nbytes > len(self.memory):
            raise OutOfDeviceMemory(f"{nbytes} bytes")
        address, self._top = self._top, -(-(self._top + nbytes) // 256) * 256
        self.live[address] = nbytes
        return address

    def abandon(self, end: Callable[..., object], *args: object) -> None:
        end(*args)

    def free(self, address: int) -> None:
        del self.live[address]

    def copy_in(self, address: int, host: np.ndarray) -> None:
        self.copied_in.append((address, host.nbytes))
        self.memory[address : address + host.nbytes] = host.tobytes()

    def copy_out(self, host: np.ndarray, address: int) -> None:
        self.copied_out.append((address, host.nbytes))
        host.reshape(-1).view(np.uint8)[:] = np.frombuffer(self.memory, np.uint8, host.nbytes, address)

    def array(self, address: int, count: int, dtype: Any = np.float32) -> np.ndarray:
        """Device memory as a kernel sees it."""
        return np.frombuffer(self.memory, dtype, count, address)

    def load(self, ptx: str, *, source: str | None = None, filename: str = "<ptx>") -> FakeModule:
        kernels = {
            name: FakeKernel(self, name, parameters, self.static_shared, self.max_threads)
            for name, parameters in entry_parameters(ptx).items()
        }
        return FakeModule(kernels, self)

    def synchronize(self) -> None: ...


@pytest.fixture
def fake() -> Iterator[FakeDevice]:
    """A fake device in use."""
    with gs.use(FakeDevice()) as device:
        yield device


@pytest.fixture
def second_fake() -> FakeDevice:
    """Another one, not in use."""
    return FakeDevice(name="second fake")


@pytest.fixture(scope="session")
def gpu() -> gs.PhysicalGPU:
    """The machine's GPU; skips where there is none."""
    if not physical_count():
        pytest.skip("no NVIDIA GPU (or no driver) on this machine")
    return gs.PhysicalGPU(0)


@pytest.fixture(scope="module")
def virtual() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=1, sanitize=True)


@pytest.fixture(params=["virtual", pytest.param("physical", marks=pytest.mark.gpu)])
def machine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Both machines, in use."""
    with gs.use(request.getfixturevalue("virtual" if request.param == "virtual" else "gpu")) as device:
        yield device
