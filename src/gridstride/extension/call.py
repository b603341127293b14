"""One call of an op: its tensors checked, what it gives allocated, the kernel launched where the tensors are."""

from __future__ import annotations

import ctypes
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gridstride.device.choice import asked_for
from gridstride.device.launch.shape import shape as launch_shape
from gridstride.device.physical.physical_gpu import PhysicalGPU
from gridstride.extension.cpu_function import Kind, check_returned
from gridstride.extension.definition import ARGUMENT, IN_PLACE, INPUT, OUTPUT, Definition
from gridstride.extension.shapes import ShapeSpec, Sizes

if TYPE_CHECKING:
    from gridstride.device.launch.kernel import BoundKernel
    from gridstride.protocol import Device, Shape

_BYTES = frozenset({"int8", "uint8", "bool"})  # C has one kind: a kernel takes each of them for the others


@dataclass(slots=True)
class Given:
    """What one call has: tensors, numbers and settled symbols by name, and the kernel for these dtypes."""

    values: dict[str, Any]
    sizes: Sizes
    kernel: int


class OpCall:
    """The op as a function of its arguments, for each kind of tensor."""

    def __init__(self, definition: Definition, cpu: Any) -> None:
        self.definition = definition
        self._cpu = cpu
        self._inputs, self._written = definition.of(INPUT, IN_PLACE), definition.of(IN_PLACE)
        self._outputs, self._arguments = definition.of(OUTPUT), definition.arguments
        self._numbers = definition.of(ARGUMENT)
        self._elements = {parameter.label: parameter.element for parameter in definition.parameters}
        self._kernels: dict[tuple[torch.dtype, ...], int] = {}  # a cache: which one takes these dtypes
        self._bound: dict[tuple[int, int], BoundKernel] = {}  # a cache: by the kernel's number and the GPU's
        self._warned = False

    def fake(self, *args: Any) -> Any:
        """The outputs without values: what tracing sees."""
        return _result(self._allocate(self._check(args)))

    def cuda(self, *args: Any) -> Any:
        """On the tensors' GPU and PyTorch's current stream."""
        checked = self._check(args)
        outputs = self._allocate(checked)
        shape = self._shape(checked, outputs)
        if shape is not None:
            key = checked.kernel, checked.values[self._inputs[0]].device.index
            bound = self._bound.get(key)
            if bound is None:
                bound = self._bound[key] = self.definition.kernels[key[0]].bound(PhysicalGPU(key[1]))
            # Addresses: the tensors are checked, and a launch need not look at each of them again.
            values = self._dense(checked) | outputs
            pack = [values[name] for name in self.definition.roles]
            bound.launch(shape, [ctypes.c_void_p(x.data_ptr()) if isinstance(x, Tensor) else x for x in pack], None)
        if self._written:
            torch.autograd.graph.increment_version([checked.values[name] for name in self._written])
        return _result(outputs)

    def cpu(self, *args: Any) -> Any:
        """On the virtual GPU where one was asked for, else by the function that the user gave for it."""
        device = asked_for()
        if device is not None and device.kind == "virtual":
            return self._virtual(device, args)
        if self._cpu is not None:
            outputs = self._kinds(self._check(args))
            given = dict(zip(self._arguments, args, strict=True))
            return check_returned(self.definition.name, self._cpu(*args), outputs, given)
        raise ValueError(
            f"{self.definition.name}: {self._inputs[0]} is on the CPU, and the kernel is for CUDA tensors: pass "
            '.cuda(), run it on the virtual GPU (with gs.use("virtual"): …), or give gs.torch_op a cpu= function'
        )

    def _virtual(self, device: Device, args: tuple[Any, ...]) -> Any:
        checked = self._check(args)
        outputs = self._allocate(checked)
        shape = self._shape(checked, outputs)
        if shape is not None:
            self._warn_once(device)
            values = self._dense(checked) | outputs
            with torch.no_grad():
                bound = self.definition.kernels[checked.kernel].bound(device)
                bound.launch(shape, [values[name] for name in self.definition.roles], None)
        return _result(outputs)

    def _warn_once(self, device: Device) -> None:
        """Once for each op: nobody should take these times for a GPU's."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.definition.name} runs on the {device.name}, which computes on the CPU: the results are the "
                "kernel's, the time is not",
                stacklevel=2,
            )

    # -- what goes in --------------------------------------------------------------------------------------------------
    def _check(self, args: tuple[Any, ...]) -> Given:
        """The arguments by name with all that follows from them; TypeError and ValueError name the tensor."""
        definition, sizes = self.definition, Sizes()
        values = dict(zip(self._arguments, args, strict=True))
        bound = Given(values, sizes, self._choose(values))
        first = values[self._inputs[0]]
        for name in self._inputs:
            tensor = values[name]
            if tensor.device != first.device:
                where = f"{first.device} as {self._inputs[0]} is"
                raise ValueError(f"{definition.name}: {name} is on {tensor.device}, not on {where}")
            spec = definition.shapes.get(name)
            if isinstance(spec, ShapeSpec):
                try:
                    spec.bind(tensor.shape, name, sizes)
                except ValueError as error:
                    raise ValueError(f"{definition.name}: {error}") from None
        if self._written:
            self._check_written(values)
        sizes.values |= {name: values[name] for name in self._numbers}
        values |= sizes.values
        for name, scalar in definition.scalars.items():
            values[name] = sizes.values[name] = scalar(values)
        return bound

    def _choose(self, values: dict[str, Any]) -> int:
        """The first kernel that takes these dtypes; TypeError names a tensor, and what there are kernels for."""
        dtypes = tuple(values[name].dtype for name in self._inputs)
        chosen = self._kernels.get(dtypes)
        if chosen is None:
            chosen = self._kernels[dtypes] = self._first_that_takes(dtypes)
        return chosen

    def _first_that_takes(self, dtypes: tuple[torch.dtype, ...]) -> int:
        actual_dtypes = {
            name: str(dtype).removeprefix("torch.") for name, dtype in zip(self._inputs, dtypes, strict=True)
        }
        choices = self.definition.dtypes
        for number, choice in enumerate(choices):
            if all(_fits(dtype, choice[name]) for name, dtype in actual_dtypes.items()):
                return number
        misfits = (
            name for name, dtype in actual_dtypes.items() if not any(_fits(dtype, choice[name]) for choice in choices)
        )
        wrong = next(misfits, self._inputs[0])
        listed = " or ".join(", ".join(f"{name} {choice[name]}" for name in actual_dtypes) for choice in choices)
        raise TypeError(f"{self.definition.name}: {wrong} is {actual_dtypes[wrong]}; there is a kernel for {listed}")

    def _check_written(self, values: dict[str, Any]) -> None:
        """What is written in place must be where it is."""
        for name in self._written:
            if not values[name].is_contiguous():
                where = f"{name} has strides {values[name].stride()}; in place it must be contiguous"
                raise ValueError(f"{self.definition.name}: {where}")

    def lazy(self, *args: Any) -> Any:
        """For tensors that stand for the negative or the conjugate of what their memory holds: PyTorch's own way with
        them asks an op for returns, which one that writes in place has not.
        """
        for name, x in zip(self._arguments, args, strict=True):
            if name in self._written and (x.is_neg() or x.is_conj()):
                view, method = ("negated", "neg") if x.is_neg() else ("conjugated", "conj")
                raise ValueError(
                    f"{self.definition.name}: {name} is a {view} view, whose memory holds other values; in place it "
                    f"must hold its own: pass {name}.resolve_{method}()"
                )
        dense = [x.resolve_conj().resolve_neg() if isinstance(x, Tensor) else x for x in args]
        namespace, short = self.definition.name.split("::")
        return getattr(getattr(torch.ops, namespace), short)(*dense)

    def _dense(self, bound: Given) -> dict[str, Any]:
        """The values with copies of inputs that are not contiguous, or begin between the vectors that are read."""
        values = bound.values.copy()
        for name in self._inputs:
            dense, element = values[name].resolve_conj().resolve_neg().contiguous(), self._elements[name]
            misaligned = element > 1 and dense.data_ptr() % element
            if misaligned and name in self._written:
                raise ValueError(f"{self.definition.name}: {name} does not begin at a multiple of {element} bytes")
            values[name] = dense.clone() if misaligned else dense
        return values

    # -- what comes out ------------------------------------------------------------------------------------------------
    def _allocate(self, bound: Given) -> dict[str, Tensor]:
        first, outputs = bound.values[self._inputs[0]], {}
        for name, (shape, dtype) in self._kinds(bound).items():
            make = first.new_zeros if name in self.definition.zeroed else first.new_empty
            outputs[name] = make(shape, dtype=dtype)
        return outputs

    def _kinds(self, bound: Given) -> dict[str, Kind]:
        """Shape and dtype of each output."""
        definition, kinds = self.definition, {}
        for name in self._outputs:
            spec = definition.shapes[name]
            shape = (
                spec.resolve(bound.sizes)
                if isinstance(spec, ShapeSpec)
                else _sizes(definition.name, name, spec(bound.values))
            )
            kinds[name] = shape, torch_dtype(definition, bound.kernel, name)
        return kinds

    def _shape(self, bound: Given, outputs: dict[str, Tensor]) -> Shape | None:
        """The launch; None where it would be of no blocks, and there is nothing to write."""
        definition, values = self.definition, bound.values | outputs
        grid, block, shared = (definition.launch[name](values) for name in ("grid", "block", "shared"))
        if 0 not in (grid if isinstance(grid, tuple | list) else (grid,)):
            return launch_shape(grid, block, shared, cooperative=definition.cooperative, cluster=definition.cluster)
        for name, tensor in outputs.items():
            if tensor.numel() and name not in definition.zeroed:
                raise ValueError(
                    f"{definition.name}: grid is {grid}, and nothing would write the {tensor.numel()} elements of "
                    f"{name}: launch a block, or name it in zeroed=(…)"
                )
        return None


def _sizes(op: str, name: str, shape: Any) -> tuple[Any, ...]:
    """What a function for the shape of `name` gave; ValueError for what is no shape."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else None
    if sizes is None or not all(isinstance(size, Integral | torch.SymInt) for size in sizes):
        raise ValueError(f"{op}: shape of {name}: the function gives {shape!r}, not a tuple of whole numbers")
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ValueError(f"{op}: shape of {name}: the function gives {shape!r}, with a size below 0")
    return sizes


def torch_dtype(definition: Definition, kernel: int, name: str) -> torch.dtype:
    """PyTorch's dtype of an array of a kernel; TypeError where there is none."""
    spelled = definition.dtypes[kernel][name]
    dtype = getattr(torch, spelled or "", None)
    if not isinstance(dtype, torch.dtype):
        kind = next(parameter.type for parameter in definition.parameters if parameter.label == name)
        raise TypeError(f"{definition.name}: {name} is {kind}, for whose elements PyTorch has no dtype")
    return dtype


def _result(outputs: dict[str, Tensor]) -> Any:
    tensors = tuple(outputs.values())
    return tensors[0] if len(tensors) == 1 else tensors or None


def _fits(dtype: str, accepted: str | None) -> bool:
    return accepted in (None, dtype) or (accepted in _BYTES and dtype in _BYTES)
