"""Launches as Triton's runtime asks for them: loaded PTX, a grid, and the arguments in the order of the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from gridstride.compiler.python.python_function import FunctionSource
from gridstride.compiler.python.triton import TritonFunction, compiled_code, triton_signature
from gridstride.compiler.python.triton_messages import file_of, first_line
from gridstride.device.choice import device as choose
from gridstride.device.creation import empty
from gridstride.device.modules.module import Module
from gridstride.device.modules.sources import CompiledUnit
from gridstride.frameworks.observers import watching
from gridstride.frameworks.storage_staging import StorageStaging
from gridstride.frameworks.triton_arguments import arguments, check_descriptors, device_values, runtime_types
from gridstride.protocol import DeviceError
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU

if TYPE_CHECKING:
    from gridstride.compiler import KernelSignature
    from gridstride.compiler.python.triton import TritonCode
    from gridstride.device.launch.kernel import Kernel

Hook = Callable[[Any], object]


def virtual_gpu() -> VirtualGPU:
    """The virtual GPU in use; DeviceError where another device is."""
    device = choose()
    if not isinstance(device, VirtualGPU):
        raise DeviceError(
            f"gridstride.frameworks.triton() runs kernels on a virtual GPU, and {device.name} is in use: "
            'gs.use("virtual"), or leave Triton to the GPU'
        )
    return device


class CompiledSource:
    """What Triton's runtime has compiled, as the source of a module: the same PTX for any chip, which may refuse it."""

    def __init__(self, function: TritonFunction, code: TritonCode) -> None:
        self.filename = function.location.file
        self.text = function.location.text
        self.signatures: Mapping[str, KernelSignature] = {function.name: triton_signature(function, code.hidden)}
        self._unit = CompiledUnit(code.ptx)

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """The PTX that there is."""
        return self._unit


class Binary:
    """The PTX that stands in the place of a cubin, and the kernel that was loaded from it."""

    def __init__(self, entry: str, ptx: str) -> None:
        self.entry = entry
        self.ptx = ptx
        self.limits: tuple[int, int, int] | None = None
        """Registers per thread, bytes spilled, most threads in a block; None before it is loaded."""
        self._loaded: tuple[Kernel, TritonCode] | None = None

    def loaded(self, source: Any, metadata: Any) -> tuple[Kernel, TritonCode]:
        """The kernel with the names of its parameters, and what a launch gives besides."""
        if self._loaded is None:
            function = _function(self.entry, source, metadata)
            code = compiled_code(function, metadata, self.ptx)
            self._loaded = Module(CompiledSource(function, code))[self.entry], code
        return self._loaded


def _function(entry: str, source: Any, metadata: Any) -> TritonFunction:
    jit = source.fn
    return TritonFunction(
        function=jit,
        name=entry,
        location=FunctionSource(file_of(jit), first_line(jit)),
        types=runtime_types(source.signature),
        aligned=frozenset(),
        constants={},
        num_warps=metadata.num_warps,
        num_stages=metadata.num_stages,
    )


class TritonLauncher:
    """What Triton's runtime calls for each launch of a compiled kernel (`launcher_cls` of its drivers)."""

    def __init__(self, source: Any, metadata: Any) -> None:
        if not hasattr(source, "fn"):
            raise DeviceError(f"{metadata.name}: kernels from files of Triton's own code are not run, functions are")
        check_descriptors(metadata.name, source.signature, getattr(metadata, "tensordesc_meta", None))
        self._source = source
        self._metadata = metadata

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: Binary, packed: Any, launch_metadata: Any,
        enter: Hook | None, leave: Hook | None, *args: Any,
    ) -> None:  # fmt: skip
        """Run a grid of x * y * z programs; `args` has a value for every parameter, constants too."""
        if enter is not None:
            enter(launch_metadata)
        if x > 0 and y > 0 and z > 0:  # Triton's own launcher starts nothing for an empty grid
            self._launch(function, (x, y, z), args)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, function: Binary, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        device = virtual_gpu()
        kernel, code = function.loaded(self._source, self._metadata)
        launch_arguments = arguments(self._source.signature, args)
        tensors = {argument.name: argument.tensor for argument in launch_arguments if argument.tensor is not None}
        blocks, how = self._shape(grid)
        with StorageStaging(device, kernel.name, tensors) as staging:
            values = [*device_values(kernel.name, launch_arguments, code.boxes, staging), *hidden_values(code, blocks)]
            run_kernel(kernel, values, {"grid": blocks, "block": code.threads, "shared": code.shared, **how})
            staging.copy_back()

    def _shape(self, grid: tuple[int, int, int]) -> tuple[tuple[int, int, int], dict[str, Any]]:
        """The grid in blocks, of which num_ctas make up a program, and how they belong together."""
        blocks = getattr(self._metadata, "num_ctas", 1)
        how: dict[str, Any] = {"cooperative": bool(getattr(self._metadata, "launch_cooperative_grid", False))}
        if blocks > 1:
            how["cluster"] = (blocks, 1, 1)
        return (grid[0] * blocks, grid[1], grid[2]), how


def hidden_values(code: TritonCode, grid: Sequence[int]) -> list[Any]:
    """Triton's own pointers behind the function's parameters: scratch memory first, then null."""
    hidden: list[Any] = [None] * code.hidden
    if code.scratch:
        hidden[0] = empty(code.scratch * prod(grid), "uint8")
    return hidden


def run_kernel(kernel: Kernel, values: Sequence[Any], how: dict[str, Any]) -> None:
    """Launch it, counted where somebody watches; KernelFault."""
    runs = watching()
    if runs is None:
        kernel.launch(args=values, **how)
        return
    run = kernel.observe(**how)(*values)
    runs.append(run)
    if run.stopped:
        raise KernelFault(run.findings, run.source)


_binaries: WeakValueDictionary[tuple[str, bytes, str], Binary] = WeakValueDictionary()


def binary(entry: str, ptx: bytes, arch: str) -> Binary:
    """The PTX of a compiled kernel, the same one each time Triton loads it on a chip of `arch`, while it is in use."""
    cached = _binaries.get((entry, ptx, arch))
    if cached is None:
        cached = _binaries[entry, ptx, arch] = Binary(entry, ptx.decode())
    return cached
