"""DLPack: device arrays as other libraries take them, without a copy.

Memory of the virtual GPU is the host's
(kDLCPU), that of a physical one CUDA's.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.element_types import BFLOAT16
from gridstride.device.mapped import MappedMemory

if TYPE_CHECKING:
    from gridstride.device.arrays import DeviceArray

VERSION = (1, 0)
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
BFLOAT, BOOL = 4, 6


class DLTensor(ctypes.Structure):
    """An array as others see it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null in C order
        ("byte_offset", ctypes.c_uint64),
    )


_VERSIONED = b"dltensor_versioned"
_BEFORE = 32  # bytes of DLManagedTensorVersioned: two words of version, two pointers, flags
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def tensor_in(capsule: Any) -> DLTensor:
    """What is in a capsule that nobody has taken: DLManagedTensor begins with it, DLManagedTensorVersioned does not."""
    if _is_valid(capsule, _VERSIONED):
        return DLTensor.from_address(_pointer(capsule, _VERSIONED) + _BEFORE)
    return DLTensor.from_address(_pointer(capsule, b"dltensor"))


def dlpack_device(array: DeviceArray) -> tuple[int, int]:
    """Kind and number of the device that holds an array, as DLPack counts them."""
    if array.device.kind != "physical":
        return (CPU, 0)
    return (CUDA, getattr(array.device, "ordinal", 0))


def is_on_gpu(value: Any) -> bool:
    """Whether an object of another library's is a CUDA array."""
    where = None if isinstance(value, np.ndarray) else getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == CUDA


def capsule(array: DeviceArray, newest: tuple[int, int] | None) -> Any:
    """An array as a capsule for a taker that knows versions up to `newest` (None: the one before there were versions).

    NumPy makes it, of an array over the same address, which it does not read; then the capsule says where that is.
    Capsules end in whatever other code is doing, so that what ends them cannot be written in Python. BufferError for a
    dtype that DLPack does not have.
    """
    array.device.expose(array.address, array.nbytes)
    held_as_bits = array.dtype_name == BFLOAT16
    memory = np.asarray(MappedMemory(array.address, array.nbytes, array)) if array.nbytes else np.empty(0, np.uint8)
    exported = _exported(memory.view(np.uint16 if held_as_bits else array.dtype).reshape(array.shape), newest)
    tensor = tensor_in(exported)
    tensor.device_type, tensor.device_id = dlpack_device(array)
    tensor.code = BFLOAT if held_as_bits else tensor.code
    tensor.data = array.address or None
    return exported


def _exported(memory: np.ndarray[Any, Any], newest: tuple[int, int] | None) -> Any:
    """NumPy's capsule; without a version who takes it may have to take it for read-only."""
    if newest is not None and tuple(newest) >= VERSION:
        with suppress(TypeError):  # NumPy 2.0 has no versions
            return memory.__dlpack__(max_version=VERSION)
    return memory.__dlpack__()
