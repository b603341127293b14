"""Kernels: `kernel[grid, block](…)`, and what stands ready for each device so that a launch costs little."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, runtime_checkable

from gridstride.device.choice import device as choose
from gridstride.device.current import capturing, refuse_in_capture
from gridstride.device.launch.dynamo import graph_break, keep_dynamo_out
from gridstride.device.launch.parameter_fields import parameter_field
from gridstride.device.launch.pointers import HostArgument, Staging
from gridstride.device.launch.scalars import packer
from gridstride.device.launch.shape import check_shape, shape
from gridstride.device.streams import as_stream
from gridstride.protocol import DeviceError, LaunchError, Shape

if TYPE_CHECKING:
    from gridstride.device.arrays import DeviceArray
    from gridstride.device.current import Capture
    from gridstride.device.launch.parameters import KernelParameter
    from gridstride.device.modules.module import Module
    from gridstride.protocol import Device, DeviceKernel, Stream
    from gridstride.virtual.observe.run import ObservedRun

P = ParamSpec("P")
_SHAPES_KEPT = 256


def named_only(launch: Callable[P, None]) -> Callable[P, None]:
    """A launch whose arguments given by position are refused in words: which is which could not be told."""

    @graph_break
    @functools.wraps(launch)
    def checked(*args: P.args, **named: P.kwargs) -> None:
        if len(args) > 1:
            name = getattr(args[0], "name", "kernel")
            raise LaunchError(
                f"{name}.launch takes its arguments by name: {name}.launch(grid=…, block=…, args=(…)); "
                f"{name}[grid, block](…) is the short form"
            )
        launch(*args, **named)

    return checked


class Kernel:
    """One kernel of a module, on whichever device is in use.

    NumPy arrays and CPU tensors are copied in and hold what the kernel wrote when the launch returns; with device
    arrays and CUDA tensors alone, a launch on a physical GPU returns before the kernel has run.
    """

    _shape_words = "grid, block"

    def __init__(self, module: Module, name: str) -> None:
        self.name = name
        self._module = module
        self._launchers: dict[Any, Callable[..., None]] = {}

    @graph_break
    def __getitem__(self, key: tuple[Any, ...]) -> Callable[..., None]:
        """Launcher for (grid, block) or (grid, block, dynamic shared bytes)."""
        try:
            launcher = self._launchers.get(key)
        except TypeError:  # lists and NumPy integers in the dimensions
            return self._launcher(key)
        if launcher is None:
            launcher = self._launcher(key)
            if len(self._launchers) < _SHAPES_KEPT:
                self._launchers[key] = launcher
        return launcher

    def __call__(self, *args: Any, **named: Any) -> NoReturn:
        """A launch without a grid is refused, with how it is written."""
        arguments = ", ".join([*("…" for _ in args[:1]), *(f"{name}=…" for name in named)])
        raise LaunchError(
            f"{self.name}({arguments}) does not say how many threads: {self.name}[{self._shape_words}]({arguments})"
        )

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
        keep_dynamo_out()
        launch_shape = shape(grid, block, shared, cooperative=cooperative, cluster=cluster)
        device = choose()
        bound = self._module.on(device).bound(self.name)
        if not isinstance(args, Sequence) or isinstance(args, str | bytes):
            raise LaunchError(f"{self.name}: args = {args!r} is not a tuple or list of arguments")
        bound.launch(launch_shape, args, None if stream is None else as_stream(device, stream))

    def observe(
        self, grid: Any, block: Any, shared: int = 0, *, cooperative: bool = False, cluster: Any = None
    ) -> Callable[..., ObservedRun]:
        """Launcher that also counts, for the virtual GPU: `run = kernel.observe(grid, block)(n, x, y)`."""
        launch_shape = shape(grid, block, shared, cooperative=cooperative, cluster=cluster)
        return lambda *args: self.bound().observe(launch_shape, args)

    def symbol(self, name: str, dtype: Any = "uint8") -> DeviceArray:
        """A `__device__` or `__constant__` variable of the unit this kernel stands in, as an array."""
        return self._module.on(choose()).symbol(self.name, name, dtype)

    def bound(self, device: Device | None = None) -> BoundKernel:
        """The kernel on `device`, or on the one in use: its device kernel, parameters and limits."""
        return self._module.on(device or choose()).bound(self.name)

    def renewed(self) -> Kernel:
        """The same kernel of a module that is loaded anew: nothing is left of what it did before."""
        return self._module.again()[self.name]

    def __repr__(self) -> str:
        shown = ", ".join(f"{parameter.type} {parameter.label}" for parameter in self.bound().parameters)
        return f"<kernel {self.name}({shown})>"

    def _launcher(self, key: tuple[Any, ...]) -> Callable[..., None]:
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise LaunchError(f"{self.name}[{key!r}]: a launch is kernel[grid, block] or kernel[grid, block, shared]")
        launch_shape, module, name = shape(*key), self._module, self.name

        @graph_break
        def launch(*args: Any) -> None:
            keep_dynamo_out()
            module.on(choose()).bound(name).launch(launch_shape, args, None)

        launch.__qualname__ = f"{name}[grid, block]"  # what Python's own messages call it
        return launch


@runtime_checkable
class Labelled(Protocol):
    """A device kernel that speaks of its parameters by name."""

    labels: tuple[str, ...]
    elements: tuple[int, ...]


class BoundKernel:
    """A kernel on one device, with the packing of its parameters worked out once."""

    def __init__(
        self, device: Device, kernel: DeviceKernel, parameters: tuple[KernelParameter, ...], name: str
    ) -> None:
        self.device = device
        self.kernel = kernel
        self.parameters = parameters
        self._name = name
        if isinstance(kernel, Labelled):
            kernel.labels = tuple(parameter.label for parameter in parameters)
            kernel.elements = tuple(parameter.element for parameter in parameters)
        fields = [parameter_field(name, parameter, device) for parameter in parameters]
        layouts = [parameter.layout for parameter in parameters]
        self._converts = [field.convert for field in fields]
        self._pack = packer([field.code for field in fields], [e.offset for e in layouts], [e.size for e in layouts])
        self._arrays = [number for number, parameter in enumerate(parameters) if parameter.pointer is not False]
        self._written = [number for number in self._arrays if not parameters[number].read_only]
        self._accepted: Shape | None = None  # the last one: launches come in rows of one shape

    def launch(self, shape: Shape, args: Sequence[Any], stream: Stream | None) -> None:
        """Check, convert, run; host arrays hold the result on return."""
        values = self._checked(shape, args)
        graph = capturing(self.device)
        if graph is not None:
            self._capture(graph, shape, values, args, stream)
            return
        if self._on_device(values):
            self._start(shape, values, stream)
        else:
            with Staging(self.device, values) as staging:
                self._start(shape, values, stream)
                (stream or self.device).synchronize()
                staging.copy_back()
        self._count_versions(args)

    def observe(self, shape: Shape, args: Sequence[Any]) -> ObservedRun:
        """Check, convert, run with counters; DeviceError where the device cannot count."""
        refuse_in_capture(f"{self._name}.observe", "observe it outside")
        observe = getattr(self.kernel, "observe", None)
        if observe is None:
            raise DeviceError(
                f"{self._name}.observe counts what a kernel does, which {self.device.name} cannot: run it on the "
                'virtual GPU, with gs.use("virtual"): …'
            )
        values = self._checked(shape, args)
        with Staging(self.device, values) as staging:
            run: ObservedRun = observe(shape, self._pack(*values))
            staging.copy_back()
        self._count_versions(args)
        return run

    def _capture(
        self, graph: Capture, shape: Shape, values: list[Any], args: Sequence[Any], stream: Stream | None
    ) -> None:
        """Have a graph take the launch down, with the arguments as they are now."""
        if stream is not None:
            raise LaunchError(f"{self._name}: stream=… in gs.capture(): graph.launch(stream) says where all of it runs")
        for number in self._arrays:
            if type(values[number]) is HostArgument:
                raise LaunchError(
                    f"{self._name}: {self.parameters[number].label} is in host memory, and gs.capture() cannot take "
                    "down what a launch copies in and out: pass gs.to_device(…), gs.pinned(…) or gs.managed(…)"
                )
        start = functools.partial(self._start, shape, values, None)
        graph.add(start, keep=tuple(args), written=self._tensors_written(args))

    def _checked(self, shape: Shape, args: Sequence[Any]) -> list[Any]:
        """What goes into each field; a HostArgument where memory must be staged first."""
        if shape is not self._accepted:
            check_shape(shape, self._name, self.kernel, self.device)
            self._accepted = shape
        if len(args) != len(self._converts):
            raise self._wrong_count(len(args))
        return [convert(value) for convert, value in zip(self._converts, args, strict=True)]

    def _count_versions(self, args: Sequence[Any]) -> None:
        """Let PyTorch know of the tensors that the kernel may have written: a backward pass that saved one refuses."""
        written = self._tensors_written(args)
        if written:
            sys.modules["torch"].autograd.graph.increment_version(written)

    def _tensors_written(self, args: Sequence[Any]) -> list[Any]:
        torch = sys.modules.get("torch")
        if torch is None:
            return []
        return [args[number] for number in self._written if isinstance(args[number], torch.Tensor)]

    def _on_device(self, values: list[Any]) -> bool:
        return not any(type(values[number]) is HostArgument for number in self._arrays)

    def _start(self, shape: Shape, values: list[Any], stream: Stream | None) -> None:
        self.kernel.launch(shape, self._pack(*values), stream)

    def _wrong_count(self, count: int) -> LaunchError:
        signature = ", ".join(f"{parameter.type} {parameter.label}" for parameter in self.parameters)
        takes = f"{len(self.parameters)} arguments ({signature})" if self.parameters else "no arguments"
        return LaunchError(f"{self._name} takes {takes}, {count} were given")
