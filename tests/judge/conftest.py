"""A device in host memory whose kernels are Python functions, so that the judge can be judged without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridstride.device.arrays import DeviceArray
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Problem, array, size


@dataclass(eq=False)
class HostDevice:
    """Memory as one array. As a physical GPU would, it lets a kernel write where it likes."""

    name: str = "host"
    kind: str = "physical"
    chip: str = "h200"
    properties: Any = field(default_factory=lambda: SimpleNamespace(multiprocessors=4, l2_bytes=4096))
    clock: float = 0.0  # milliseconds
    random: Random = field(default_factory=lambda: Random(3))

    def __post_init__(self) -> None:
        self.memory = np.zeros(1 << 22, np.uint8)
        self._top = 256

    def allocate(self, nbytes: int) -> int:
        address, self._top = self._top, -(-(self._top + nbytes) // 256) * 256
        assert self._top <= self.memory.size
        return address

    def free(self, address: int) -> None: ...

    def abandon(self, end: object, *args: object) -> None: ...

    def copy_in(self, address: int, host: np.ndarray) -> None:
        self.memory[address : address + host.nbytes] = host.reshape(-1).view(np.uint8)

    def copy_out(self, host: np.ndarray, address: int) -> None:
        host.reshape(-1).view(np.uint8)[:] = self.memory[address : address + host.nbytes]

    def copy_within(self, target: int, source: int, nbytes: int) -> None:
        self.memory[target : target + nbytes] = self.memory[source : source + nbytes]

    def synchronize(self) -> None: ...

    def stream(self) -> HostDevice:
        return self

    def event(self) -> HostEvent:
        return HostEvent(self)

    def view(self, given: DeviceArray, before: int = 0, after: int = 0) -> np.ndarray:
        """The array in device memory, with bytes before and after it, as a kernel could reach them."""
        start = given.address - before
        raw = self.memory[start : given.address + given.nbytes + after]
        return raw.view(given.dtype) if before or after else raw.view(given.dtype).reshape(given.shape)


@dataclass
class HostEvent:
    """What the device's clock shows when it is recorded."""

    device: HostDevice
    at: float = 0.0

    def record(self, stream: object) -> None:
        self.at = self.device.clock

    def elapsed_ms(self, start: HostEvent) -> float:
        return self.at - start.at


@dataclass
class HostKernel:
    """A Python function in the place of a kernel; it gets NumPy views of the arrays and the numbers as they are."""

    device: HostDevice
    body: Callable[..., None]
    cost: float = 0.01  # milliseconds of the device's clock

    def renewed(self) -> HostKernel:
        return self

    def launch(self, *, grid: Any, block: Any, args: tuple[Any, ...], shared: int, stream: object = None) -> None:
        self.device.clock += self.cost
        self.body(*(self.device.view(each) if isinstance(each, DeviceArray) else each for each in args))


@pytest.fixture
def host() -> HostDevice:
    return HostDevice()


@pytest.fixture
def runs(host: HostDevice) -> Callable[..., Runnable]:
    """Makes a Python function a kernel that can be judged; `cost` is what a launch takes, in milliseconds."""
    return lambda body, cost=0.01: Runnable(HostKernel(host, body, cost), SymbolicLaunch(("1",), ("32",)), host)


def _pitched(v: Any) -> dict[str, np.ndarray]:
    y = np.full(v["x"].shape, np.nan)
    y[:, : v["columns"]] = 2 * v["x"][:, : v["columns"]]
    return {"y": y}


@pytest.fixture
def pitched() -> Problem:
    """y = 2 x where rows lie further apart than they are wide."""
    return Problem(
        name="pitched",
        title="Twice a matrix with gaps",
        parameters=(
            array("x", "float32", "rows", "pitch"),
            array("y", "float32", "rows", "pitch", role="out"),
            size("rows"),
            size("columns"),
            size("pitch"),
            array("weights", "float32", "columns"),
        ),
        reference=_pitched,
        public=({"rows": 5, "columns": 33, "pitch": 36}, {"rows": 3, "columns": 16, "pitch": 16}),
        largest={"rows": 20, "columns": 40, "pitch": 60},
        observed={"rows": 8, "columns": 32, "pitch": 33},
        timed={"rows": 1024, "columns": 1024, "pitch": 1025},
        strides={"pitch": "columns"},
        flops="rows*columns",
        bytes="8*rows*columns",
        exact=True,
    )


@pytest.fixture
def doubling() -> Problem:
    """y = 2 x, elementwise."""
    return Problem(
        name="doubling",
        title="Twice a vector",
        parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n")),
        reference=lambda v: {"y": 2 * v["x"]},
        public=({"n": 8}, {"n": 33}),
        largest={"n": 64},
        observed={"n": 64},
        timed={"n": 1024},
        flops="n",
        bytes="8*n",
        exact=True,
    )
