"""What a kernel's PTX parameters take, made from the arguments that Triton hands to its launcher."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.tensor_map import tensor_map
from gridstride.protocol import LaunchError

if TYPE_CHECKING:
    from gridstride.frameworks.storage_staging import StorageStaging

_CONSTANT = "constexpr"
_DESCRIPTOR = "tensordesc"


@dataclass(frozen=True, slots=True)
class Argument:
    """A runtime parameter of a launch: its name ("x", "pair[1]" in a tuple), Triton's type, and the value."""

    name: str
    type: str
    value: Any

    @property
    def tensor(self) -> Any:
        """The tensor whose memory the kernel reaches through this argument; None for numbers and null pointers."""
        if self.type.startswith(_DESCRIPTOR):
            return self.value.base
        return self.value if self.type.startswith("*") and self.value is not None else None


def runtime_types(signature: Mapping[str, Any]) -> dict[str, str]:
    """Triton's type by parameter, tuples taken apart, constants left out."""
    return {argument.name: argument.type for argument in arguments(signature, [_Nested()] * len(signature))}


def check_descriptors(kernel: str, signature: Mapping[str, Any], metas: Sequence[Any] | None) -> None:
    """LaunchError for descriptors that Triton took apart, which it does for chips that have no tensor copies."""
    names = [name for name, spelled in runtime_types(signature).items() if spelled.startswith(_DESCRIPTOR)]
    if len(names) != len(metas or ()):
        raise LaunchError(
            f"{kernel}: {', '.join(names)}: tensor descriptors as arguments need a chip with tensor copies (TMA): "
            'gs.use(gs.VirtualGPU("h200")), or let the kernel make them with tl.make_tensor_descriptor'
        )


def arguments(signature: Mapping[str, Any], values: Sequence[Any]) -> list[Argument]:
    """The runtime arguments among those of a launch, which has all, constants too."""
    return [argument for pair in zip(signature.items(), values, strict=True) for argument in _flat(*pair[0], pair[1])]


class _Nested:
    """Stands for values that nobody looks at, however deep the tuples are."""

    def __getitem__(self, index: int) -> _Nested:
        return self


def _flat(name: str, spelled: Any, value: Any) -> Iterator[Argument]:
    if isinstance(spelled, tuple):
        for index, inner in enumerate(spelled):
            yield from _flat(f"{name}[{index}]", inner, value[index])
    elif spelled != _CONSTANT:
        yield Argument(name, spelled, value)


def device_values(
    kernel: str,
    launch_arguments: Sequence[Argument],
    boxes: Sequence[tuple[Sequence[int], int]],
    staging: StorageStaging,
) -> Iterator[Any]:
    """A value for each PTX parameter: addresses, numbers, and for a descriptor its tensor map, sizes and strides."""
    remaining = iter(boxes)
    for argument in launch_arguments:
        if argument.type.startswith(_DESCRIPTOR):
            yield from _descriptor(kernel, argument, *next(remaining), staging)
        elif argument.tensor is not None:
            yield ctypes.c_void_p(staging.address(argument.name))
        else:
            yield argument.value


def _descriptor(
    kernel: str, argument: Argument, box: Sequence[int], swizzle: int, staging: StorageStaging
) -> Iterator[Any]:
    """Of a triton.tools.tensor_descriptor.TensorDescriptor, whose strides are in elements."""
    value = argument.value
    if getattr(value, "round_f32_to_tf32", False):  # older versions have none
        raise LaunchError(f"{kernel}: {argument.name} has round_f32_to_tf32=True, which the virtual GPU does not know")
    dtype = _element(kernel, argument.name, value)
    elements = staging.remaining(argument.name) // dtype.itemsize
    array = DeviceArray(staging.device, staging.address(argument.name), (elements,), dtype)
    strides = [int(stride) * dtype.itemsize for stride in value.strides]
    shape, fill = [*map(int, value.shape)], "nan" if value.padding == "nan" else "zeros"
    yield tensor_map(array, box, swizzle=swizzle, fill=fill, shape=shape, strides=strides)
    yield from shape
    yield from map(int, value.strides)


def _element(kernel: str, name: str, value: Any) -> np.dtype[Any]:
    """NumPy's dtype of an element; one of as many bytes where NumPy has none and the fill is zeros in any."""
    spelled = str(value.base.dtype).removeprefix("torch.")
    if spelled in ("float16", "float32", "float64"):
        return np.dtype(spelled)
    if value.padding == "nan":
        raise LaunchError(
            f'{kernel}: {name} has padding="nan" for {spelled}: the virtual GPU fills float16 and float32'
        )
    return np.dtype(f"uint{8 * value.base.element_size()}")
