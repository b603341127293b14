"""Numba kernels: each array argument is spread over the fields that Numba's kernels take it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import device as choose
from gridstride.device.launch.dynamo import graph_break
from gridstride.device.launch.kernel import Kernel, named_only
from gridstride.device.modules.module import Module
from gridstride.device.modules.python_sources import NumbaSource
from gridstride.protocol import LaunchError

if TYPE_CHECKING:
    from gridstride.compiler.python.numba import NumbaArgument, NumbaFunction
    from gridstride.virtual.observe.run import ObservedRun


def numba(fn: Callable[..., Any], signature: Any) -> NumbaModule:
    """A function written for Numba's CUDA target as a module of one kernel, compiled for the device in use.

    `fn`: plain, or decorated with @cuda.jit. `signature`: Numba's, "void(float32[:], int32)" or a tuple of types.

    Raises CompileError with the Python line, ValueError for a signature that does not fit the function, RuntimeError
    where Numba's CUDA compiler is missing.
    """
    from gridstride.compiler.python.numba import numba_function

    source = NumbaSource(numba_function(fn, signature))
    source.unit(choose().properties.arch)  # what does not compile says so here, not at the first launch
    return NumbaModule(source)


class NumbaModule(Module):
    """A module of one Numba kernel, under the name of its function."""

    def __init__(self, source: NumbaSource) -> None:
        self.function: NumbaFunction = source.function
        super().__init__(source)

    @property
    def meets_as_a_grid(self) -> bool:
        """Whether the kernel calls this_grid().sync(), for which Numba launches it as a cooperative grid."""
        return "cudaCGSynchronize" in self.ptx

    def _kernel(self, name: str) -> Kernel:
        return NumbaKernel(self, name)


class NumbaKernel(Kernel):
    """A Numba kernel on whichever device is in use: `kernel[grid, block](x, y)`."""

    _module: NumbaModule

    @graph_break
    def __getitem__(self, key: tuple[Any, ...]) -> Callable[..., None]:
        """Launcher for (grid, block) or (grid, block, dynamic shared bytes)."""
        if self._module.meets_as_a_grid and isinstance(key, tuple) and len(key) in (2, 3):
            shape = dict(zip(("grid", "block", "shared"), key, strict=False))
            return graph_break(lambda *args: self.launch(**shape, args=args))
        launcher = super().__getitem__(key)
        return graph_break(lambda *args: launcher(*self._spread(args)))

    @named_only
    def launch(
        self,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any] = (),
        shared: int = 0,
        stream: Any = None,
        cooperative: bool = False,
        cluster: Any = None,
    ) -> None:
        """Launch once; `shared` is dynamic shared memory in bytes. LaunchError refuses before anything runs."""
        cooperative = cooperative or self._module.meets_as_a_grid
        how = {"shared": shared, "stream": stream, "cooperative": cooperative, "cluster": cluster}
        super().launch(grid=grid, block=block, args=self._spread(args), **how)

    def observe(
        self, grid: Any, block: Any, shared: int = 0, *, cooperative: bool = False, cluster: Any = None
    ) -> Callable[..., ObservedRun]:
        """Launcher that also counts, for the virtual GPU: `run = kernel.observe(grid, block)(x, y)`."""
        cooperative = cooperative or self._module.meets_as_a_grid
        observed = super().observe(grid, block, shared, cooperative=cooperative, cluster=cluster)
        return lambda *args: observed(*self._spread(args))

    def __repr__(self) -> str:
        return f"<kernel {self.name}({self._shown()})>"

    def _shown(self) -> str:
        return ", ".join(f"{argument.spelled} {argument.name}" for argument in self._module.function.arguments)

    def _spread(self, args: Sequence[Any]) -> list[Any]:
        expected = self._module.function.arguments
        if len(args) != len(expected):
            takes = f"{len(expected)} arguments ({self._shown()})" if expected else "no arguments"
            raise LaunchError(f"{self.name} takes {takes}, {len(args)} were given")
        return [field for a, value in zip(expected, args, strict=True) for field in _fields(self.name, a, value)]


def _fields(kernel: str, expected: NumbaArgument, value: Any) -> Iterator[Any]:
    """What an argument puts into its PTX parameters."""
    if expected.kind == "array":
        yield from _array_fields(f"{kernel}: {expected.name}", expected, value)
    elif expected.kind == "complex":
        number = _complex(f"{kernel}: {expected.name}", expected, value)
        yield from (number.real, number.imag)
    elif expected.kind == "tuple":
        if not isinstance(value, tuple) or len(value) != len(expected.items):
            raise LaunchError(f"{kernel}: {expected.name} is {expected.spelled}, {value!r} was given")
        for item, field in zip(expected.items, value, strict=True):
            yield from _fields(kernel, item, field)
    else:
        yield value


def _complex(where: str, expected: NumbaArgument, value: Any) -> complex:
    try:
        return complex(value)
    except (TypeError, ValueError):
        raise LaunchError(f"{where} is {expected.spelled}, a {type(value).__name__} was given") from None


def _array_fields(where: str, expected: NumbaArgument, value: Any) -> Iterator[Any]:
    """meminfo, parent, size, itemsize, data, shape, strides; strides are those of the array itself."""
    shape = getattr(value, "shape", None)
    if shape is None:
        raise LaunchError(f"{where} is {expected.spelled}, a {type(value).__name__} was given: pass an array")
    if len(shape) != expected.ndim:
        raise LaunchError(f"{where} is {expected.spelled}, an array of {len(shape)} dimensions was given")
    itemsize, strides = _strides(value)
    data = value
    if expected.layout != "C" and _falls(strides) and not isinstance(value, DeviceArray):
        data = value.T  # the same memory, in the order that it lies in
    elif expected.layout == "F" and expected.ndim > 1:
        raise LaunchError(f"{where} is {expected.spelled} and the array is not in Fortran order: np.asfortranarray(…)")
    yield from (None, None, prod(shape), itemsize, data, *shape, *strides)


def _strides(value: Any) -> tuple[int, tuple[int, ...]]:
    """Bytes of an element and from one to the next along each dimension, of a NumPy or device array or a tensor."""
    if isinstance(value, (np.ndarray, DeviceArray)):
        return value.dtype.itemsize, tuple(value.strides)
    if hasattr(value, "element_size"):
        size = value.element_size()
        return size, tuple(size * stride for stride in value.stride())
    interface = getattr(value, "__cuda_array_interface__", {})
    itemsize = np.dtype(interface.get("typestr", "u1")).itemsize
    tight = tuple(itemsize * prod(value.shape[axis + 1 :]) for axis in range(len(value.shape)))
    return itemsize, interface.get("strides") or tight


def _falls(strides: tuple[int, ...]) -> bool:
    """Whether the first dimension varies fastest, in an array of two dimensions or more."""
    return len(strides) > 1 and strides[0] < strides[-1]
