"""Launches of the engine: kernels compiled once, device memory, and what is recorded of each launch."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.creation import empty, to_device
from gridstride.device.modules.module import Module, cuda
from gridstride.frameworks.onnx.expressions import C_TYPES
from gridstride.frameworks.onnx.generated_kernel import GeneratedKernel, copying_kernel
from gridstride.frameworks.onnx.graph import Array
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.tensors import Tensor, Value, contiguous_strides, of_array
from gridstride.judge.header import read_kernel

if TYPE_CHECKING:
    from gridstride.device.launch.kernel import Kernel
    from gridstride.protocol import Device

_OWN = Path(__file__).parent / "cuda"
_LADDERS = Path(__file__).parents[2] / "kernels"
MOST_ELEMENTS = (1 << 31) - 1
"""Of one value: kernels count in 32 bits."""
_THREADS, _MOST_BLOCKS = 256, 1 << 16
"""Of a generated kernel, whose threads go on to the next element where there are more."""

Dim = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel that ran. `ms` is predicted on the virtual GPU and measured on a physical one; None: not asked for."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    ms: float | None = None
    instructions: int | None = None
    sectors: int | None = None
    limiter: str | None = None


@dataclass(slots=True)
class Launcher:
    """Where operators get memory and start kernels. `observe`: counters of every launch (virtual), or its time."""

    device: Device
    observe: bool = False
    launches: list[Launch] = field(default_factory=list)

    # -- memory --------------------------------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: Any) -> Tensor:
        """Memory for a value, not initialised."""
        sizes = tuple(int(n) for n in shape)
        count = prod(sizes)
        if count > MOST_ELEMENTS:
            raise OnnxError(f"a value of shape {list(sizes)} has {count} elements: kernels here count to 2^31 - 1")
        return Tensor(empty(max(count, 1), np.dtype(dtype)), sizes, contiguous_strides(sizes))

    def on_device(self, value: Value) -> Tensor:
        """The value in device memory."""
        if isinstance(value, Tensor):
            return value
        if not value.size:
            return self.empty(value.shape, value.dtype)
        return of_array(to_device(np.ascontiguousarray(value).reshape(-1)), value.shape)

    def on_host(self, value: Value) -> Array:
        """The value as a NumPy array."""
        if not isinstance(value, Tensor):
            return value
        if not value.size:
            return np.empty(value.shape, value.dtype)
        flat = self.contiguous(value)
        result: Array = flat.array[flat.offset : flat.offset + flat.size].numpy().reshape(value.shape)
        return result

    def integers(self, value: Value) -> list[int]:
        """The value as a list of Python integers: a shape, axes, pads."""
        return [int(n) for n in np.asarray(self.on_host(value)).reshape(-1)]

    def contiguous(self, value: Value) -> Tensor:
        """The value on the device in C order, copied where it is not."""
        tensor = self.on_device(value)
        return tensor if tensor.contiguous else self.copy(tensor)

    def copy(self, tensor: Tensor, out: Tensor | None = None) -> Tensor:
        """The elements of a view in new memory in C order, or in the places that `out` has for them."""
        out = out if out is not None else self.empty(tensor.shape, tensor.dtype)
        if out.size:
            self.launch_generated(copying_kernel(tensor, out))
        return out

    # -- kernels -------------------------------------------------------------------------------------------------------
    def own(self, file: str, entry: str, **macros: object) -> Kernel:
        """A kernel of this package's folder `cuda`."""
        if C_TYPES["bfloat16"] in macros.values():
            macros["BFLOAT16"] = 1
        return _module_of(_OWN / file, _options(macros))[entry]

    def rung(self, problem: str, name: str, **macros: object) -> Kernel:
        """A rung of a ladder, which stands in `kernels/`."""
        file = _LADDERS / problem / "rungs" / f"{name}.cu"
        return _module_of(file, _options(macros))[_entry_of(file)]

    def launch_generated(self, kernel: GeneratedKernel) -> None:
        """Run a kernel whose source was generated."""
        blocks = min(ceil_div(kernel.count, _THREADS), _MOST_BLOCKS)
        self.launch(_module_of_source(kernel.source)[kernel.entry], blocks, _THREADS, kernel.args)

    def launch(self, kernel: Kernel, grid: Dim, block: Dim, args: Sequence[Any], *, shared: int = 0) -> None:
        """Run a kernel; tensors among `args` are given by their memory."""
        arguments = [arg.start if isinstance(arg, Tensor) else arg for arg in args]
        if self.observe and self.device.kind == "virtual":
            run = kernel.observe(grid, block, shared)(*arguments)
            if run.stopped:
                from gridstride.virtual.findings.finding import KernelFault

                raise KernelFault(run.findings, run.source)
            counters = run.counters
            measured = (run.predicted.ms, counters.instructions, counters.global_sectors, run.predicted.limiter)
            self.launches.append(Launch(kernel.name, _three(grid), _three(block), *measured))
            return
        if not self.observe:
            kernel.launch(grid=grid, block=block, args=arguments, shared=shared)
            self.launches.append(Launch(kernel.name, _three(grid), _three(block)))
            return
        self.device.synchronize()
        began = time.perf_counter()
        kernel.launch(grid=grid, block=block, args=arguments, shared=shared)
        self.device.synchronize()
        ms = 1e3 * (time.perf_counter() - began)
        self.launches.append(Launch(kernel.name, _three(grid), _three(block), ms))


REALS = ("float32", "float16", "bfloat16")


def element(tensor: Tensor, what: str, allowed: Iterable[str] = REALS) -> str:
    """The C++ type of a tensor's elements; OnnxError for another than those that a kernel takes."""
    names = tuple(allowed)
    if tensor.dtype.name not in names:
        raise OnnxError(f"{what} is {tensor.dtype.name}: the kernel takes {' and '.join(names)}")
    return C_TYPES[tensor.dtype.name]


def summed_element(tensor: Tensor, what: str) -> dict[str, str]:
    """ELEMENT and SUM of kernels that have double, too."""
    kind = element(tensor, what, (*REALS, "float64"))
    return {"ELEMENT": kind, "SUM": "double" if kind == "double" else "float"}


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def _three(dim: Dim) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _options(macros: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"-D{name}={value}" for name, value in sorted(macros.items()))


@functools.lru_cache(maxsize=64)
def _entry_of(rung: Path) -> str:
    entry = read_kernel(rung).entry
    assert entry is not None
    return entry


@functools.lru_cache(maxsize=512)
def _module_of(file: Path, options: tuple[str, ...]) -> Module:
    return cuda(file, options)


@functools.lru_cache(maxsize=2048)
def _module_of_source(source: str) -> Module:
    return cuda(source, filename="elementwise.cu")
