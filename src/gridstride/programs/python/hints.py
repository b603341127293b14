"""What an ImportError of a script's leaves open: how its package is installed, or what is known of it here."""

from __future__ import annotations

import sys
from types import TracebackType

_NUMBA = "pip install 'gridstride[numba]' brings it, and with it cuda.core and cuda.bindings"
_HINTS = {
    "numba": _NUMBA,
    "numba_cuda": _NUMBA,
    "cuda": _NUMBA,
    "cupy": "CuPy is linked with NVIDIA's static runtime, which the virtual GPU cannot stand in for",
    "pycuda": "PyCUDA is built with the CUDA toolkit against libcuda; it has not been tried on the virtual GPU",
}
"""By the first part of a module's name."""


def give_hints() -> None:
    """From now on, behind the traceback of an exception that nobody has caught."""
    previous_hook = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        previous_hook(kind, error, trace)
        hint = _hint(error)
        if hint:
            print(f"gridstride: hint: {hint}", file=sys.stderr)

    sys.excepthook = hook


def _hint(error: BaseException) -> str | None:
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    return _HINTS.get(error.name.partition(".")[0])
