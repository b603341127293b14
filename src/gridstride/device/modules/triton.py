"""Triton kernels: `kernel[grid](…)`; the block, shared memory and Triton's own parameters are given for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import device as choose
from gridstride.device.creation import empty
from gridstride.device.launch.dynamo import graph_break, keep_dynamo_out
from gridstride.device.launch.kernel import Kernel, named_only
from gridstride.device.launch.scalars import as_int
from gridstride.device.launch.shape import dim3
from gridstride.device.modules.module import Module
from gridstride.device.modules.python_sources import TritonSource
from gridstride.device.tensor_map import tensor_map
from gridstride.protocol import LaunchError

if TYPE_CHECKING:
    from gridstride.compiler.python.triton import TritonCode, TritonFunction
    from gridstride.protocol import Device
    from gridstride.virtual.observe.run import ObservedRun


def triton(
    fn: Callable[..., Any], *, signature: Mapping[str, str] | Sequence[str], constants: Mapping[str, Any] | None = None,
    num_warps: int | None = None, num_stages: int | None = None,
) -> TritonModule:  # fmt: skip
    """A `@triton.jit` function as a module of one kernel, compiled for the device in use.

    `signature`: Triton's types by parameter name ("*fp32", "i32"; "*fp32:16" promises an address, "i32:16" a number,
    that is a multiple of 16, which lets Triton load several elements at once; "tensordesc<fp16[64, 32]>" a tensor
    descriptor with that block, for which a launch is given the device array), or in order of the parameters that are no
    constants. `constants`: the tl.constexpr parameters by name. Of a function under @triton.autotune the first
    configuration that agrees with these is taken (`module.function.notes` says which); else it is 4 warps, 3 stages.

    Raises CompileError with the Python line, ValueError for a signature that does not fit the function, RuntimeError
    where Triton is missing.
    """
    from gridstride.compiler.python.triton import triton_function

    function = triton_function(fn, signature=signature, constants=constants, num_warps=num_warps, num_stages=num_stages)
    module = TritonModule(function)
    module.code(choose())  # what does not compile says so here, not at the first launch
    return module


class TritonModule(Module):
    """A module of one Triton kernel, under the name of its function."""

    def __init__(self, function: TritonFunction) -> None:
        self._own = TritonSource(function)
        self.function = function
        super().__init__(self._own)

    def code(self, device: Device) -> TritonCode:
        """The kernel as it runs on `device`."""
        return self._own.code(device.properties.arch)

    def _kernel(self, name: str) -> Kernel:
        return TritonKernel(self, name)


class TritonKernel(Kernel):
    """A Triton kernel on whichever device is in use.

    `kernel[grid](x, y, n)`: the grid is programs along one to three axes, or a function of the constants; arguments
    are the runtime parameters in order or by name. Constants may be given too and must be those compiled in.
    """

    _module: TritonModule
    _shape_words = "grid"

    @graph_break
    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Launcher for a grid, or for (grid, block) where the grid is a tuple."""
        grid, block = key if _with_block(key) else (key, None)
        return graph_break(lambda *args, **named: self._run(grid, block, args, named))

    @named_only
    def launch(
        self,
        *,
        grid: Any,
        block: Any = None,
        args: Sequence[Any] = (),
        shared: int | None = None,
        stream: Any = None,
        cooperative: bool = False,
        cluster: Any = None,
    ) -> None:
        """Launch once; block and shared memory are Triton's, and refused where others are given."""
        self._run(grid, block, args, {}, shared, stream=stream, cooperative=cooperative, cluster=cluster)

    def observe(
        self,
        grid: Any,
        block: Any = None,
        shared: int | None = None,
        *,
        cooperative: bool = False,
        cluster: Any = None,
    ) -> Callable[..., ObservedRun]:
        """Launcher that also counts, for the virtual GPU: `run = kernel.observe(grid)(x, y, n)`."""

        def observed(*args: Any, **named: Any) -> ObservedRun:
            launch_shape = self._shape(grid, block, shared)
            run = super(TritonKernel, self).observe(**launch_shape, cooperative=cooperative, cluster=cluster)
            return run(*self._arguments(args, named, launch_shape["grid"]))

        return observed

    def __repr__(self) -> str:
        return f"<kernel {self.name}({self._shown()})>"

    def _shown(self) -> str:
        return ", ".join(f"{spelled} {name}" for name, spelled in self._module.function.types.items())

    def _run(
        self, grid: Any, block: Any, args: Sequence[Any], named: dict[str, Any], shared: int | None = None, **how: Any
    ) -> None:
        keep_dynamo_out()
        launch_shape = self._shape(grid, block, shared)
        super().launch(**launch_shape, args=self._arguments(args, named, launch_shape["grid"]), **how)

    def _shape(self, grid: Any, block: Any, shared: int | None) -> dict[str, Any]:
        code = self._module.code(choose())
        threads = (code.threads, 1, 1)
        if block is not None and dim3(block, "block") != threads:
            warps = self._module.function.num_warps
            raise LaunchError(
                f"{self.name}: block = {block!r}, but a program is {code.threads} threads (num_warps={warps}): "
                "leave the block out"
            )
        if shared not in (None, 0, code.shared):
            raise LaunchError(
                f"{self.name}: shared = {shared!r}, but Triton uses {code.shared} bytes: leave shared out"
            )
        blocks = grid(dict(self._module.function.constants)) if callable(grid) else grid
        return {"grid": dim3(blocks, "grid"), "block": threads, "shared": code.shared}

    def _arguments(self, args: Sequence[Any], named: Mapping[str, Any], grid: Sequence[int]) -> list[Any]:
        """The runtime arguments in order, then what Triton's own parameters want."""
        code, function = self._module.code(choose()), self._module.function
        values = self._bind(args, named)
        for name in function.aligned:
            _check_aligned(self.name, name, values[name])
        boxes = iter(code.boxes)
        own = [v for name, spelled in function.types.items() for v in self._spread(name, spelled, values[name], boxes)]
        hidden: list[Any] = [None] * code.hidden
        if code.scratch:
            hidden[0] = empty(code.scratch * prod(grid), "uint8")
        return [*own, *hidden]

    def _spread(self, name: str, spelled: str, value: Any, boxes: Iterator[tuple[Sequence[int], int]]) -> Iterator[Any]:
        """What a kernel's parameters take for an argument: for a descriptor its tensor map, sizes and strides."""
        from gridstride.compiler.python.triton import descriptor

        described = descriptor(spelled)
        if described is None:
            yield value
            return
        dtype, rank = described
        box, swizzle = next(boxes)
        if not isinstance(value, DeviceArray):
            raise LaunchError(
                f"{self.name}: {name} is a {spelled}: give the array itself, on the device (gs.to_device), "
                f"not a {type(value).__name__}"
            )
        if len(value.shape) != rank or value.dtype_name != dtype:
            raise LaunchError(f"{self.name}: {name} is a {spelled}, not {value.dtype_name} of shape {value.shape}")
        yield tensor_map(value, box, swizzle=swizzle)
        yield from value.shape
        yield from (stride // value.dtype.itemsize for stride in value.strides)

    def _bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the runtime parameters; LaunchError says which is missing, unknown or given twice."""
        function = self._module.function
        runtime = [name for name in function.types if name not in named]
        order = runtime if len(args) <= len(runtime) else [name for name in function.names if name not in named]
        if len(args) > len(order):
            expected = f"{len(function.types)} arguments ({self._shown()})" if function.types else "no arguments"
            raise LaunchError(f"{self.name} takes {expected}, {len(args)} were given")
        arguments = {**dict(zip(order, args, strict=False)), **named}
        for name in arguments.keys() - function.types.keys():
            self._check_constant(name, arguments[name])
        missing = [name for name in function.types if name not in arguments]
        if missing:
            raise LaunchError(f"{self.name}: no value for {', '.join(missing)}")
        return arguments

    def _check_constant(self, name: str, value: Any) -> None:
        function = self._module.function
        constants = {**function.constants, "num_warps": function.num_warps, "num_stages": function.num_stages}
        if name not in constants:
            raise LaunchError(f"{self.name} has no parameter {name!r}; it has {', '.join(function.names)}")
        if constants[name] != value:
            raise LaunchError(
                f"{self.name} was compiled with {name}={constants[name]!r}, not {value!r}: make another with gs.triton"
            )


def _with_block(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and (isinstance(key[0], (tuple, list)) or callable(key[0]))


def _check_aligned(kernel: str, name: str, value: Any) -> None:
    number = value.address if isinstance(value, DeviceArray) else None
    if number is None and hasattr(value, "__index__") and not hasattr(value, "shape"):
        number = as_int(value, f"{kernel}: {name}", "a whole number")
    if number is not None and number % 16:
        raise LaunchError(f"{kernel}: {name} = {number} is no multiple of 16, which ':16' in the signature promises")
