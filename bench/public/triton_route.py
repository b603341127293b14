"""Triton kernels that a library launches itself, `kernel[grid](…)` on PyTorch's tensors, on the virtual GPU.

`installed()` stands in Triton's place while libraries are tried by bench/public_kernels.py: tensors of PyTorch's CPU
device are copied to the virtual GPU, storage by storage, and what kernels wrote is copied back. Of an autotuned kernel
the first configuration runs.
"""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import ml_dtypes
import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

import gridstride as gs

NAMES = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64", torch.int32: "i32",
    torch.int64: "i64", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "i1",
    torch.float8_e4m3fn: "fp8e4nv", torch.float8_e5m2: "fp8e5",
}  # fmt: skip
DTYPES = {
    torch.bfloat16: ml_dtypes.bfloat16, torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
}  # fmt: skip
OWN = ("num_warps", "num_stages")
IGNORED = ("num_ctas", "enable_fp_fusion", "maxnreg", "grf_mode", "debug", "waves_per_eu")
Launches = dict[str, int]
_POINTERS = 1024
"""Numbers that a tensor may have and be taken for a table of pointers."""
_modules: dict[Any, Any] = {}


@contextmanager
def installed(launched: Launches) -> Iterator[None]:
    """Inside, launches go to the device in use, and are counted by kernel."""

    def run(function: JITFunction[Any], *args: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
        if warmup:
            return _Compiled(function, named)
        _launch(function, args, grid, named)
        launched[function.__name__] = launched.get(function.__name__, 0) + 1
        return None

    def first(tuner: Autotuner, *args: Any, **named: Any) -> Any:
        config = tuner.best_config = tuner.configs[0]  # a library may ask for it afterwards
        given = dict(zip(tuner.arg_names, args, strict=False))
        if config.pre_hook:
            config.pre_hook({**given, **named, **config.all_kwargs()})
        return tuner.fn.run(*args, **{**named, **config.all_kwargs()})

    with patch.object(JITFunction, "run", run), patch.object(Autotuner, "run", first):
        yield


class _Compiled:
    """What `kernel.warmup(…)` gives: it is launched with the constants that it was made with."""

    n_regs, n_spills = 32, 0
    metadata = SimpleNamespace(shared=1 << 10, num_warps=4)

    def __init__(self, function: JITFunction[Any], named: Mapping[str, Any]) -> None:
        self._function, self._named = function, dict(named)

    def _init_handles(self) -> None:
        """Nothing is loaded before a launch."""

    def __getitem__(self, grid: Any) -> Any:
        names = self._function.arg_names
        return lambda *args: self._function[grid](
            *args, **{n: v for n, v in self._named.items() if n not in names[: len(args)]}
        )


def _launch(function: JITFunction[Any], args: tuple[Any, ...], grid: Any, named: Mapping[str, Any]) -> None:
    given = dict(zip(function.arg_names, args, strict=False)) | dict(named)
    own = {name: given[name] for name in OWN if given.get(name) is not None}
    values = {name: given[name] for name in function.arg_names if name in given}
    for parameter in function.params:
        if parameter.name not in values and parameter.has_default:
            values[parameter.name] = parameter.default
    blocks = grid({**values, **given}) if callable(grid) else grid
    fixed = {p.name for p in function.params if p.is_constexpr}
    constants = {n: v for n, v in values.items() if n in fixed or v is None or (_whole(v) and v == 1)}
    runtime = {name: value for name, value in values.items() if name not in constants}
    storages = _Storages()
    on_device = {name: storages.given(value) for name, value in runtime.items()}
    signature = {name: _spelled(value, on_device[name]) for name, value in runtime.items()}
    key = (function, tuple(signature.items()), tuple((n, str(v)) for n, v in constants.items()), tuple(own.items()))
    if key not in _modules:
        _modules[key] = gs.triton(function, signature=signature, constants=constants, **own)
    _modules[key][function.__name__][tuple(map(int, blocks))](**on_device)
    storages.fetch()


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _spelled(value: Any, on_device: Any) -> str:
    """Triton's type, with the promise that Triton itself makes of multiples of 16."""
    if isinstance(value, torch.Tensor):
        return f"*{NAMES[value.dtype]}" + (":16" if on_device.value % 16 == 0 else "")
    if isinstance(value, TensorDescriptor):
        return f"tensordesc<{NAMES[value.base.dtype]}{list(value.block_shape)}>"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return ("i32" if -(2**31) <= value < 2**31 else "i64") + (":16" if value % 16 == 0 else "")
    return "fp32"


class _Storages:
    """What lies on the device for one launch, each of PyTorch's storages once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[torch.Tensor, Any]] = {}
        self._tables: set[int] = set()
        self._apart: list[tuple[torch.Tensor, Any]] = []

    def given(self, value: Any) -> Any:
        """What a launch is given for a value."""
        if isinstance(value, TensorDescriptor):
            base, count = value.base, math.prod(value.shape)
            if not base.is_contiguous():  # gs.triton takes arrays without gaps
                self._apart.append((base, gs.to_device(base.contiguous())))
                return self._apart[-1][1]
            array = self._array(base).view(DTYPES.get(base.dtype, str(base.dtype)[6:]))
            return array[base.storage_offset() : base.storage_offset() + count].reshape(*value.shape)
        return self.put(value) if isinstance(value, torch.Tensor) else value

    def put(self, tensor: torch.Tensor) -> Any:
        """The tensor's first element on the device; its strides are the kernel's affair."""
        address = self._array(tensor).address + tensor.storage_offset() * tensor.element_size()
        return ctypes.c_void_p(address)

    def _array(self, tensor: torch.Tensor) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._known:
            flat = torch.empty(0, dtype=torch.uint8).set_(storage)  # type: ignore[call-overload]
            given = self._translated(flat) if tensor.dtype == torch.int64 else flat
            self._known[storage.data_ptr()] = (flat, gs.to_device(given.numpy()))
        return self._known[storage.data_ptr()][1]

    def _translated(self, flat: torch.Tensor) -> torch.Tensor:
        """With the device's addresses where numbers are those of living tensors: a table of pointers."""
        values = flat.view(torch.int64).clone()
        living = {each.data_ptr(): each for each in gc.get_objects() if type(each) is torch.Tensor and each.numel()}
        for at, value in enumerate(values.tolist() if values.numel() <= _POINTERS else []):
            if value in living:
                values[at] = self.put(living[value]).value
                self._tables.add(flat.data_ptr())
        return values.view(torch.uint8)

    def fetch(self) -> None:
        for flat, array in self._known.values():
            if flat.data_ptr() in self._tables:
                continue  # on the host its addresses are the host's
            flat.copy_(torch.from_numpy(array.numpy()))
        for part, array in self._apart:
            part.copy_(torch.from_numpy(array.numpy()))
