"""cuda.bindings.runtime on our libcudart, in place of NVIDIA's static one that is linked into it.

That one asks the driver for tables that are not public. The package's own modules find its functions by Cython's table
of capsules, `__pyx_capi__`: there ours stand before the first module has looked.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_MODULES = {"cuda.bindings._internal.runtime": "", "cuda.bindings._internal.runtime_ptds": "_ptds"}
"""With the ending of the symbols for per-thread streams."""

_api = ctypes.pythonapi
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_void_p  # the very text, which lives as long as the module


def replace_static_runtime(runtime: ctypes.CDLL) -> None:
    """From now on, whenever it is imported."""
    sys.meta_path.insert(0, _Finder(runtime))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, runtime: ctypes.CDLL) -> None:
        self._runtime = runtime

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._runtime, _MODULES[name])
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, runtime: ctypes.CDLL, ending: str) -> None:
        self._loader, self._runtime, self._ending = loader, runtime, ending

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _replace(module.__pyx_capi__, self._runtime, self._ending)


def _replace(capsules: dict[str, object], runtime: ctypes.CDLL, ending: str) -> None:
    """Capsules of the same names and types, of our functions; what ours has not stays as it is."""
    for name, capsule in capsules.items():
        function = _function(runtime, name.removeprefix("_"), ending)
        if function is not None:
            capsules[name] = _api.PyCapsule_New(function, _api.PyCapsule_GetName(capsule), None)


def _function(runtime: ctypes.CDLL, name: str, ending: str) -> int | None:
    endings = (ending, ending.replace("ptds", "ptsz"), "") if ending else ("",)
    for symbol in (name + ending for ending in endings):
        if hasattr(runtime, symbol):
            return ctypes.cast(getattr(runtime, symbol), ctypes.c_void_p).value
    return None
