"""What a Triton or Numba file may do besides its kernel, in a worker that has no GPU: make tensors, launch, measure.

Files written as tutorials are call their kernels when they are imported. Here that does nothing: `torch` is an object
that takes every call, and a launch of a kernel returns at once. What is judged is the kernel alone.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

_ABSENT = frozenset({"torch", "torchvision", "matplotlib", "pandas", "pytest", "tabulate", "cupy", "jax"})


class Nothing:
    """Answers every use with itself; as a number it is 1, as a sequence empty."""

    def __init__(self, name: str = "nothing") -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing(name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        # As a decorator it leaves the function what it is.
        return args[0] if len(args) == 1 and not named and callable(args[0]) else Nothing()

    def _itself(self, *_: Any) -> Nothing:
        return Nothing()

    __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself
    __floordiv__ = __rfloordiv__ = __mod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __pos__ = _itself
    __abs__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _itself
    __enter__ = _itself

    def __eq__(self, other: object) -> bool:
        return True  # so that `assert x.device == DEVICE` holds

    def __hash__(self) -> int:
        return 0

    def __exit__(self, *_: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __bool__(self) -> bool:
        return True

    def __index__(self) -> int:
        return 1

    def __int__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __format__(self, how: str) -> str:
        return self.__name__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()


class _AbsentModule(ModuleType):
    __path__: list[str] = []  # noqa: RUF012  every submodule is looked for, and is absent too

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


def leave_out_what_needs_a_gpu(language: str) -> None:
    """From here on torch is absent, and kernels that are launched do nothing."""
    sys.meta_path.insert(0, _Finder())
    if language == "triton":
        _triton_without_a_driver()
    else:
        _numba_without_a_driver()


def _triton_without_a_driver() -> None:
    import triton
    from triton.runtime import autotuner, driver, jit

    def nothing(*_: Any, **__: Any) -> Any:
        return Nothing()

    jit.KernelInterface.__getitem__ = lambda self, grid: nothing
    jit.JITFunction.run = autotuner.Autotuner.run = autotuner.Heuristics.run = nothing
    jit.JITFunction.warmup = nothing
    driver.set_active(Nothing("driver"))
    for name in ("do_bench", "do_bench_cudagraph", "assert_close"):
        setattr(triton.testing, name, nothing)
    triton.testing.perf_report = lambda *_, **__: lambda function: Nothing("report")


def _numba_without_a_driver() -> None:
    from numba import cuda
    from numba.cuda import dispatcher

    for name in ("to_device", "device_array", "device_array_like", "synchronize", "pinned_array", "stream", "event",
                 "is_available", "get_current_device", "select_device", "close", "current_context"):  # fmt: skip
        setattr(cuda, name, lambda *_, **__: Nothing())
    kernel = dispatcher.CUDADispatcher
    kernel.__getitem__ = lambda self, shape: lambda *_, **__: None
    kernel.__call__ = lambda self, *_, **__: None
