"""PTX that a Python compiler made, launched with the parameters that this compiler's kernels take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import use
from gridstride.device.launch.kernel import BoundKernel, Kernel
from gridstride.device.modules.module import ptx
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.execution.runnable import RefusedError, Runnable
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.symbols import evaluate
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device, DeviceError, UnknownName


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel whose PTX parameters are more than the problem's: what `spread` makes of those."""

    kernel: Kernel
    spread: Callable[[Sequence[Any]], Sequence[Any]]

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.kernel.name

    def around(self, kernel: Kernel) -> PtxKernel:
        """Another kernel with the same parameters, launched in the same way."""
        return PtxKernel(kernel, self.spread)

    def launch(
        self,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        shared: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None:
        """Launch once."""
        values = tuple(self.spread(args))
        self.kernel.launch(grid=grid, block=block, args=values, shared=shared, stream=stream, cooperative=cooperative)

    def observe(self, grid: Any, block: Any, shared: int = 0, *, cooperative: bool = False) -> Callable[..., Any]:
        """Launcher that also counts."""
        observed = self.kernel.observe(grid, block, shared, cooperative=cooperative)
        return lambda *args: observed(*self.spread(args))

    def bound(self) -> BoundKernel:
        """The kernel on the device in use."""
        return self.kernel.bound()

    def renewed(self) -> PtxKernel:
        """The same of a module that is loaded anew."""
        return PtxKernel(self.kernel.renewed(), self.spread)


def build_ptx(words: Mapping[str, Any], launch: SymbolicLaunch, device: Device) -> Runnable:
    """The kernel on a device; RefusedError with the finding where that is not possible."""
    hidden = [None] * int(words["hidden"])
    own = _own(words["order"], words["names"])
    spread = (lambda args: _numba(own(args))) if words["language"] == "numba" else (lambda args: [*own(args), *hidden])
    try:
        with use(device):
            kernel = ptx(words["ptx"], filename=words["filename"])[words["entry"]]
        # Numba makes many parameters of an array, and which is which its PTX does not say.
        positions = [position if isinstance(position, int) else None for position in words["order"]]
        facts = KernelFacts.of(words["ptx"], positions=() if words["language"] == "numba" else positions)
        return Runnable(PtxKernel(kernel, spread), launch, device, facts)  # type: ignore[arg-type]
    except (UnknownName, DeviceError, ValueError) as error:
        raise RefusedError(Finding("launch", str(error))) from error


def _own(order: Sequence[int | str], names: Sequence[str]) -> Callable[[Sequence[Any]], list[Any]]:
    """The kernel's own arguments from the problem's: by place, or worked out from its numbers."""

    def own(args: Sequence[Any]) -> list[Any]:
        numbers = {name: value for name, value in zip(names, args, strict=True) if isinstance(value, int)}
        return [args[position] if isinstance(position, int) else evaluate(position, numbers) for position in order]

    return own


def _numba(args: Sequence[Any]) -> list[Any]:
    return [field for value in args for field in _fields(value)]


def _fields(value: Any) -> Iterator[Any]:
    """An array as meminfo, parent, size, item size, data, shape and strides (numba.core.datamodel, ArrayModel)."""
    if isinstance(value, DeviceArray):
        yield from (None, None, value.size, value.dtype.itemsize, value, *value.shape, *value.strides)
    else:
        yield value
