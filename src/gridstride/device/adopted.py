"""Other libraries' arrays as device arrays over the same memory, by DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import device as choose
from gridstride.device.dlpack import BFLOAT, BOOL, CUDA, CUDA_HOST, CUDA_MANAGED, DLTensor, tensor_in
from gridstride.device.element_types import BFLOAT16, element_type
from gridstride.device.mapped import is_mapped

if TYPE_CHECKING:
    from gridstride.protocol import Device

_NAMES = {0: "int", 1: "uint", 2: "float", 5: "complex"}


def from_dlpack(exporter: Any, *, device: Device | str | None = None) -> DeviceArray:
    """Another library's array as a device array over the same memory; it is never copied (`gs.to_device` does that).

    On a physical GPU: its CUDA tensors, and pinned or managed memory; on a virtual one, what lies in its own memory:
    device arrays that were given away, `gs.pinned`, `gs.managed`. ValueError for other memory, and for arrays that are
    not C-contiguous or read-only; TypeError for objects without `__dlpack__`.
    """
    chosen = choose(device)
    if not hasattr(exporter, "__dlpack__") or not hasattr(exporter, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack: a {type(exporter).__name__} has no __dlpack__: gs.to_device(…) copies what it has"
        )
    kind, number = map(int, exporter.__dlpack_device__())
    own = getattr(chosen, "ordinal", 0) if chosen.kind == "physical" else None
    if kind == CUDA and number != own:
        raise ValueError(
            f"from_dlpack: the {type(exporter).__name__} is on cuda:{number}, kernels run on {chosen.name}"
        )
    try:
        held = exporter.__dlpack__(stream=_stream(chosen)) if kind == CUDA else exporter.__dlpack__()
    except BufferError as error:
        raise ValueError(f"from_dlpack: the {type(exporter).__name__} is not given away: {error}") from None
    array = _adopted(held, type(exporter).__name__, chosen)
    reached = kind == CUDA or (own is not None and kind in (CUDA_HOST, CUDA_MANAGED))
    if array.nbytes and not reached and not is_mapped(chosen, array.address, array.nbytes):
        raise ValueError(
            f"from_dlpack: the {type(exporter).__name__} lies in host memory that kernels on {chosen.name} do not "
            "reach: gs.to_device(…) copies it, gs.pinned(shape, dtype) makes arrays in memory that they reach"
        )
    return array


def _stream(device: Any) -> int:
    """Where work will go, as DLPack spells it: 1 is CUDA's default stream."""
    return int(device.current_stream()) or 1


def _adopted(held: Any, what: str, device: Device) -> DeviceArray:
    """The array in a capsule, whose name stays, so that its own destructor gives the memory back."""
    tensor = tensor_in(held)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    dtype, name = _element(tensor, what)
    address = (tensor.data or 0) + tensor.byte_offset
    array = DeviceArray(device, address, shape, dtype, dtype_name=name, owner=held)
    if tensor.strides and array.size:
        steps = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
        if any(n > 1 and step != own for n, step, own in zip(shape, steps, array.strides, strict=True)):
            raise ValueError(f"from_dlpack: the {what} is not C-contiguous: make it so first, or gs.to_device(…)")
    return array


def _element(tensor: DLTensor, what: str) -> tuple[np.dtype[Any], str]:
    if (tensor.code, tensor.bits, tensor.lanes) == (BFLOAT, 16, 1):
        return element_type(BFLOAT16)
    name = "bool" if tensor.code == BOOL else f"{_NAMES.get(tensor.code)}{tensor.bits}"
    if tensor.lanes != 1 or (tensor.code != BOOL and tensor.code not in _NAMES):
        raise ValueError(
            f"from_dlpack: elements of the {what} (DLPack's code {tensor.code}, {tensor.bits} bits, {tensor.lanes} "
            "lanes) are none of NumPy's, nor bfloat16"
        )
    return element_type(name)
