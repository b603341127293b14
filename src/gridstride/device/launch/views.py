"""What a launch argument is when it holds an array: where its memory lies, its dtype, and who may write to it.

No other library is imported for this: an argument of PyTorch's can only exist once PyTorch has been.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.device.element_types import BFLOAT16, check_dtype


@dataclass(slots=True)
class ArrayView:
    """Memory of an array-like argument; `host` is its bytes when they are in host memory.

    Not frozen: one is made for every tensor of every launch, and freezing trebles what that costs.
    """

    place: str  # "host", or "cuda:1"; "cuda" when its library does not say which GPU
    dtype_name: str
    address: int
    nbytes: int
    contiguous: bool
    writable: bool
    host: np.ndarray[Any, Any] | None = None
    problem: str | None = None  # why no kernel could use it
    differentiated: bool = False  # autograd records what happens to it, and would miss what a kernel writes


_Adapter = Callable[[Any], "ArrayView | None"]
_ADAPTERS: dict[type, _Adapter] = {}  # a cache: how to view each type met so far


def array_view(value: object) -> ArrayView | None:
    """How `value` lies in memory; None when it is no array."""
    adapter = _ADAPTERS.get(type(value))
    if adapter is None:
        adapter = _ADAPTERS[type(value)] = _adapter(value)
    return adapter(value)


def host_values(host: object) -> tuple[np.ndarray[Any, Any], str]:
    """The values of an array, CPU tensor or nested sequence, C-contiguous, and the name of their dtype.

    ValueError for elements that cannot go to a device.
    """
    own = host_array(host)
    array = np.asarray(host) if own is None else own
    check_dtype(array.dtype)
    values = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray turns () into (1,)
    return values, held_name(host, array)


def held_name(host: object, array: np.ndarray[Any, Any]) -> str:
    """The dtype of what an object holds, whose values `array` has: "bfloat16" where they are bits."""
    name: str = array.dtype.name
    if isinstance(host, np.ndarray):
        return name
    dtype = str(getattr(host, "dtype_name", None) or getattr(host, "dtype", ""))
    return BFLOAT16 if dtype.removeprefix("torch.") == BFLOAT16 else name


def host_array(value: object) -> np.ndarray[Any, Any] | None:
    """`value`'s own memory as a NumPy array, where it is a NumPy array or a CPU tensor; else None.

    Of a bfloat16 tensor its bits, as uint16.
    """
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.device.type == "cpu":
        return _torch_numpy(value)
    return None


def _adapter(value: object) -> _Adapter:
    if isinstance(value, np.ndarray):
        return _view_numpy
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _view_torch
    if hasattr(value, "__cuda_array_interface__"):
        return _view_interface
    return lambda _: None


def _view_numpy(array: np.ndarray[Any, Any]) -> ArrayView:
    dtype = array.dtype
    problem = None
    if dtype.hasobject:
        problem = "holds Python objects"
    elif not dtype.isnative:
        problem = f"has a foreign byte order ({dtype.str})"
    return ArrayView(
        place="host",
        dtype_name=dtype.name,
        address=array.__array_interface__["data"][0],
        nbytes=array.nbytes,
        contiguous=array.flags.c_contiguous,
        writable=array.flags.writeable,
        host=np.asarray(array),  # of a masked array or a matrix, what lies below
        problem=problem,
    )


def _view_torch(tensor: Any) -> ArrayView:
    device = tensor.device
    on_host = device.type == "cpu"
    problem = None
    if tensor.layout is not sys.modules["torch"].strided:
        problem = f"is a {tensor.layout} tensor, not a dense one"
    elif device.type not in ("cpu", "cuda"):
        problem = f"is on {device}"
    elif tensor.is_conj() or tensor.is_neg():
        problem = "is a lazy conjugate or negative: pass .resolve_conj().resolve_neg()"
    contiguous = not problem and tensor.is_contiguous()
    return ArrayView(
        place="host" if on_host else _spelled(device),
        dtype_name=_spelled(tensor.dtype),
        address=0 if problem else tensor.data_ptr(),
        nbytes=0 if problem else tensor.numel() * tensor.element_size(),
        contiguous=contiguous,
        writable=True,
        host=_torch_bytes(tensor) if on_host and contiguous else None,
        problem=problem,
        differentiated=tensor.requires_grad and sys.modules["torch"].is_grad_enabled(),
    )


@functools.cache
def _spelled(place_or_dtype: Any) -> str:
    """PyTorch's "cuda:0" and "float32"; a cache, since each launch asks and there are few of them."""
    return str(place_or_dtype).removeprefix("torch.")


def _view_interface(value: Any) -> ArrayView | None:
    interface = getattr(value, "__cuda_array_interface__", None)  # absent on a CPU tensor of a type that has it
    if interface is None:
        return None
    dtype = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides")
    return ArrayView(
        place="cuda",
        dtype_name=dtype.name,
        address=int(address or 0),
        nbytes=dtype.itemsize * int(np.prod(shape, dtype=np.int64)),
        contiguous=strides is None or _c_contiguous(shape, tuple(strides), dtype.itemsize),
        writable=not read_only,
    )


def _c_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def _torch_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """A CPU tensor's memory under a NumPy dtype; TypeError, from PyTorch, for another dtype that NumPy lacks."""
    torch, own = sys.modules["torch"], tensor.detach()
    if own.dtype is torch.bfloat16:
        own = own.view(torch.uint16)
    array: np.ndarray[Any, Any] = own.numpy()
    return array


def _torch_bytes(tensor: Any) -> np.ndarray[Any, Any]:
    """A contiguous CPU tensor's memory as bytes, whatever its dtype (NumPy has no bfloat16)."""
    torch = sys.modules["torch"]
    array: np.ndarray[Any, Any] = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return array
