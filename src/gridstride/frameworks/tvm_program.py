"""What TVM compiled for CUDA, run without a GPU: its kernels' source on the virtual GPU, its own host code around them.

TVM's host code checks the arrays, works out grids and launches each kernel by its name. It looks for that name among
what the module imports and then among all functions that TVM knows: there is ours.
"""

from __future__ import annotations

import ctypes
import re
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.compiler.diagnostics import CompileWarning
from gridstride.compiler.frontends import require
from gridstride.device.arrays import DeviceArray
from gridstride.device.creation import to_device
from gridstride.device.modules.module import cuda
from gridstride.frameworks.triton_launcher import run_kernel, virtual_gpu
from gridstride.protocol import LaunchError

_AT_LEAST = (0, 27)
_SET_DEVICE = "__tvm_set_device"
_DLTENSOR = b"dltensor"
_KIND_AT = 8
"""Bytes from the start of a DLTensor to the kind of its device."""
_CUDA = 2
_HANDLE = 3
"""Of DLPack: the device, and the first byte of a pointer's type."""
_EXTENTS = {f"{of}.{axis}": (of, number) for of in ("blockIdx", "threadIdx") for number, axis in enumerate("xyz")}
_KERNEL = re.compile(r"__global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(")
_SHARED = "tirx.use_dyn_shared_memory"
_lock = threading.RLock()  # of the functions that TVM knows by name, which are the process's


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Of each parameter whether it is a pointer, then what a launch is given: a number for each of `tags`, "blockIdx.x"
    and the like.
    """

    name: str
    pointers: tuple[bool, ...]
    tags: tuple[str, ...]


class TvmProgram:
    """A `tvm.compile(…, target="cuda")`, called as its functions are, with NumPy arrays: these are copied to the
    virtual GPU and hold afterwards what its kernels wrote.

    `source` is the CUDA C++ that TVM wrote. LaunchError for what TVM's host code refuses, KernelFault.
    """

    def __init__(self, library: Any) -> None:
        require("tvm", distribution="apache-tvm", at_least=_AT_LEAST, install="'apache-tvm>=0.27'", what="TVM")
        self._host = getattr(library, "mod", library)
        self._imported = list(self._host.imports)
        self._device_code = next((module for module in self._imported if module.kind == "cuda"), None)
        if self._device_code is None:
            raise ValueError('the library has no CUDA kernels: tvm.compile(…, target="cuda") makes them')
        self.source: str = self._device_code.inspect_source("cuda")
        self.kernels = {info.name: info for info in kernel_infos(_serialised(self._host), self.source)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)  # what TVM wrote has names that nothing uses
            self._module = cuda(self.source)
        self._stopped: Exception | None = None

    def __call__(self, *arguments: Any) -> None:
        """Its function "main"."""
        self.run("main", *arguments)

    def run(self, name: str, *arguments: Any) -> None:
        """A function by its name; numbers go to it as they are."""
        device = virtual_gpu()
        arrays = [to_device(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
        tensors = [_tensor(argument) if isinstance(argument, DeviceArray) else argument for argument in arrays]
        with _lock, self._with_kernels_registered():
            self._call(name, tensors, device.name)
        for host, array in zip(arguments, arrays, strict=True):
            if isinstance(host, np.ndarray) and host.flags.writeable:
                host[...] = array.numpy()

    def _call(self, name: str, tensors: list[Any], device: str) -> None:
        self._stopped = None
        try:
            self._host.get_function(name)(*tensors)
        except RuntimeError as error:
            if self._stopped is not None:
                raise self._stopped from None
            raise LaunchError(f"{name}: TVM's host code does not run on {device}: {error}") from error

    @contextmanager
    def _with_kernels_registered(self) -> Iterator[None]:
        """TVM finds our kernels by their names, and no GPU needs choosing."""
        import tvm_ffi

        set_device = tvm_ffi.get_global_func(_SET_DEVICE)
        tvm_ffi.register_global_func(_SET_DEVICE, _set_device(set_device), override=True)
        for info in self.kernels.values():
            tvm_ffi.register_global_func(info.name, self._launcher(info), override=True)
        self._host.clear_imports()
        try:
            yield
        finally:
            for module in self._imported:
                self._host.import_module(module)
            for name in self.kernels:
                with suppress(ValueError, RuntimeError):
                    tvm_ffi.registry.remove_global_func(name)
            tvm_ffi.register_global_func(_SET_DEVICE, set_device, override=True)

    def _launcher(self, info: KernelInfo) -> Any:
        def launch(*values: Any) -> None:
            try:
                self._launch(info, values)
            except Exception as error:  # as it is: TVM makes errors of its own of it
                self._stopped = error
                raise RuntimeError(str(error)) from error

        return launch

    def _launch(self, info: KernelInfo, values: tuple[Any, ...]) -> None:
        pointers, extents = values[: len(info.pointers)], values[len(info.pointers) :]
        how: dict[str, Any] = {"grid": [1, 1, 1], "block": [1, 1, 1], "shared": 0}
        for tag, extent in zip(info.tags, extents, strict=True):
            if tag == _SHARED:
                how["shared"] = int(extent)
                continue
            if tag not in _EXTENTS:
                raise LaunchError(f"{info.name}: a launch with {tag} is not supported")
            of, axis = _EXTENTS[tag]
            how["grid" if of == "blockIdx" else "block"][axis] = int(extent)
        how |= {"grid": tuple(how["grid"]), "block": tuple(how["block"])}
        pairs = zip(pointers, info.pointers, strict=True)
        run_kernel(self._module[info.name], [_address(value) if pointer else value for value, pointer in pairs], how)


def _address(value: Any) -> ctypes.c_void_p:
    return value if isinstance(value, ctypes.c_void_p) else ctypes.c_void_p(int(value))


def _set_device(original: Any) -> Any:
    return lambda kind, number: None if kind == _CUDA else original(kind, number)


class _OnCuda:
    """Memory of the virtual GPU, said to be a GPU's, for the checks of TVM's host code."""

    def __init__(self, array: DeviceArray) -> None:
        memory = memoryview((ctypes.c_char * max(1, array.nbytes)).from_address(array.address))
        self._host = np.frombuffer(memory, array.dtype, count=array.size).reshape(array.shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._host.__dlpack__()
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(address(capsule, _DLTENSOR) + _KIND_AT).value = _CUDA
        return capsule


def _tensor(array: DeviceArray) -> Any:
    import tvm_ffi

    return tvm_ffi.from_dlpack(_OnCuda(array))


def _serialised(module: Any) -> bytes:
    import tvm

    data: bytes = tvm.get_global_func("runtime.ModulePackImportsToTensor")(module).numpy().tobytes()
    return data


def kernel_infos(data: bytes, source: str) -> list[KernelInfo]:
    """From a module as TVM writes it to a file: each kernel's name twice, its types, what it is launched with."""
    names = [name for name in dict.fromkeys(_KERNEL.findall(source)) if _string(name) * 2 in data]
    return [_info(data, name) for name in names]


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _info(data: bytes, name: str) -> KernelInfo:
    at = data.index(_string(name) * 2) + 2 * len(_string(name))
    parameters = struct.unpack_from("<Q", data, at)[0]
    pointers = tuple(data[at + 8 + 4 * number] == _HANDLE for number in range(parameters))
    at += 8 + 4 * parameters
    count = struct.unpack_from("<Q", data, at)[0]
    at += 8
    tags = []
    for _ in range(count):
        length = struct.unpack_from("<Q", data, at)[0]
        tags.append(data[at + 8 : at + 8 + length].decode())
        at += 8 + length
    return KernelInfo(name, pointers, tuple(tags))
