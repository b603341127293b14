"""Rungs as functions of CUDA tensors: compiled at first use for the tensors' GPU, launched on PyTorch's stream.

A launch reads nothing back and allocates nothing, so it can be captured into a CUDA graph once the kernel is compiled:
`warm` by one call before the capture.

A rung whose code for the GPU has `griddepcontrol.wait` is launched dependent: its blocks may begin before the kernels
in front have ended, once every block of the last of them has come to `griddepcontrol.launch_dependents` or its end. So:

- Before the wait such a rung reads nothing that a kernel in front may write, and writes no global memory at all: what
  it writes may still be read there (a residual in place, the cache, memory that the allocator hands out again). An op
  reads inputs earlier only where its caller says that they are fixed.
- Every thread waits, also one that has nothing to do. The wait is for the kernel directly in front and all that it has
  written; that those before it have ended follows from its having waited for them. An early exit breaks the chain for
  every kernel behind.
- What it reads behind the wait comes through pointers without `__restrict__`: that would promise the compiler that
  nobody writes there while the kernel runs, and allow it to load earlier, or through a cache that is not coherent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from gridstride.device.choice import use
from gridstride.device.launch.kernel import BoundKernel
from gridstride.device.launch.scalars import packer
from gridstride.device.modules.module import cuda
from gridstride.device.physical.physical_gpu import PhysicalGPU
from gridstride.judge.header import read_kernel
from gridstride.protocol import DeviceProperties, Shape

ELEMENTS = {torch.float16: "__half", torch.bfloat16: "__nv_bfloat16", torch.float32: "float"}
"""C++ names of the element types that the kernels are compiled for."""
DEPENDENT = True
"""Whether rungs that wait for the kernels in front themselves are launched so; without it, benchmarks compare."""
_WAIT = "griddepcontrol.wait"
_CODES = {"float32": "f", "float64": "d", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}
_POINTER = "Q"
_MOST_KEPT = 4
_KERNELS = Path(__file__).resolve().parent

Dim3 = tuple[int, int, int]


class RungLauncher:
    """One compiled rung on one GPU. Arguments are tensors (None: a null pointer) and numbers, in the rung's order.

    `waits`: for the kernels in front, by itself; so that it need not be launched behind them.
    """

    def __init__(self, kernel: BoundKernel, *, waits: bool = False) -> None:
        layouts = [p.layout for p in kernel.parameters]
        codes = [_POINTER if p.pointer else _CODES[str(p.dtype)] for p in kernel.parameters]
        self._kernel, self._waits = kernel.kernel, waits
        self._pack = packer(codes, [p.offset for p in layouts], [p.size for p in layouts])

    def __call__(self, grid: Dim3, block: int, *args: Tensor | float | None, shared: int = 0) -> None:
        """Queue one launch; the caller answers for shapes, dtypes and memory."""
        self.launch(_shape(grid, block, shared, False, self._waits and DEPENDENT), args)

    def serial(self, grid: Dim3, block: int, *args: Tensor | float | None, shared: int = 0) -> None:
        """The same, begun when all kernels in front have ended: for a rung that reads what they write too early."""
        self.launch(_shape(grid, block, shared, False, False), args)

    def cooperative(self, grid: Dim3, block: int, *args: Tensor | float | None, shared: int = 0) -> None:
        """The same, with all blocks on the GPU at once or an error."""
        self.launch(_shape(grid, block, shared, True, False), args)

    def launch(self, shape: Shape, args: tuple[Tensor | float | None, ...]) -> None:
        """The same in any shape."""
        words = [value.data_ptr() if isinstance(value, Tensor) else 0 if value is None else value for value in args]
        self._kernel.launch(shape, self._pack(*words), None)


@functools.lru_cache(maxsize=1024)  # a model's layers launch a few shapes again and again
def _shape(grid: Dim3, block: int, shared: int, cooperative: bool, dependent: bool) -> Shape:
    return Shape(grid, (block, 1, 1), shared, cooperative=cooperative, dependent=dependent)


def launcher(folder: str, rung: str, device: torch.device, **macros: object) -> RungLauncher:
    """A rung compiled for the GPU of `device`, with `macros` defined; kept for the next call."""
    return _compiled(folder, rung, _ordinal(device), **macros)


def properties(device: torch.device) -> DeviceProperties:
    """Of the tensors' GPU."""
    return PhysicalGPU(_ordinal(device)).properties


def multiprocessors(device: torch.device) -> int:
    """Of the tensors' GPU."""
    return properties(device).multiprocessors


def _ordinal(device: torch.device) -> int:
    index: int | None = device.index
    return int(torch.cuda.current_device()) if index is None else index


@functools.cache
def _compiled(folder: str, rung: str, ordinal: int, **macros: object) -> RungLauncher:
    file = read_kernel(_KERNELS / folder / "rungs" / f"{rung}.cu")
    assert file.entry is not None
    gpu = PhysicalGPU(ordinal)
    with use(gpu):
        module = cuda(
            file.source, [f"-D{name}={value}" for name, value in sorted(macros.items())], filename=file.filename
        )
        return RungLauncher(module[file.entry].bound(), waits=_WAIT in module.ptx)


def element(x: Tensor) -> str:
    """The C++ type of a tensor's elements; TypeError for a dtype that no kernel is written for."""
    if x.dtype not in ELEMENTS:
        raise TypeError(f"dtype {x.dtype} is not one of {', '.join(map(str, ELEMENTS))}")
    return ELEMENTS[x.dtype]


def check_float(x: Tensor, name: str, *, double: bool = False) -> None:
    """TypeError for a dtype that no kernel is written for. float64 is for CPUs, or by `double` for PyTorch's kernels,
    which take over where ours have none.
    """
    if x.dtype not in ELEMENTS and (x.dtype != torch.float64 or (x.is_cuda and not double)):
        raise TypeError(f"{name}: dtype {x.dtype} is not one of {', '.join(map(str, ELEMENTS))}")


def check_aligned(**tensors: Tensor) -> None:
    """ValueError for one that does not begin where vectors of 16 bytes may; not for tensors without memory."""
    for name, tensor in tensors.items():
        check(tensor.data_ptr() % 16 == 0, name, tensor, "at an address that is a multiple of 16 bytes")


def check(condition: bool, name: str, tensor: Tensor, expected: str | Callable[[], str]) -> None:
    """ValueError that names the tensor, what it is and what it must be; a text that has to be made, by a function."""
    if not condition:
        text = expected if isinstance(expected, str) else expected()
        strides = "" if tensor.is_contiguous() else f" with strides {tuple(tensor.stride())}"
        raise ValueError(f"{name} is {tensor.dtype} {tuple(tensor.shape)}{strides} on {tensor.device}, not {text}")


def check_devices(first: str, on: Tensor, names: str, *tensors: Tensor | None) -> None:
    """ValueError for the first of `tensors`, by their names, that is not where `on`, named `first`, is."""
    device = on.device
    for at, tensor in enumerate(tensors):
        if tensor is not None and tensor.device != device:
            check(False, names.split()[at], tensor, f"on {device} as {first} is")


def check_alike(tensor: Tensor, name: str, other: Tensor, of: str) -> None:
    """ValueError unless both have one shape, dtype and device."""
    alike = tensor.shape == other.shape and tensor.dtype == other.dtype and tensor.device == other.device
    check(alike, name, tensor, lambda: f"{other.dtype} {tuple(other.shape)} on {other.device} as {of} is")


def check_rows(x: Tensor, name: str) -> int:
    """How many rows x [..., C] has, 0 where it holds nothing; ValueError above what the kernels count in an int."""
    check(x.dim() > 0, name, x, "a tensor of rows: [..., C]")
    rows = x.numel() // x.shape[-1] if x.numel() else 0
    check(max(rows, x.shape[-1]) < 1 << 31, name, x, "less than 2^31 rows and columns")
    return rows


def lanes_of_rows(row_bytes: int, most: int = _MOST_KEPT) -> tuple[int, int]:
    """Threads of a row, and vectors of 16 bytes that each keeps in registers, for the rungs that read a row once.

    `most` vectors a thread while there are threads left, four at most: rows above 64 KiB do not fit, and are read more
    than once.
    """
    vectors = max(1, ceil_div(row_bytes, 16))
    lanes = next((lanes for lanes in (32, 128, 256, 512) if vectors <= lanes * most), 1024)
    return lanes, min(ceil_div(vectors, lanes), _MOST_KEPT)


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)
