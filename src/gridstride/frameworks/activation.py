"""Setting Triton's driver, and setting it back."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from gridstride.compiler.frontends import require
from gridstride.device.physical.driver import physical_count

_TRITON = (3, 6)
_TORCH = (2, 11)
_BENCHMARKS = ("do_bench", "do_bench_cudagraph")


class Activation:
    """Triton on the virtual GPU from the moment that this is made; at the end of a `with` the driver before is back.

    `active` is False where a physical GPU is, on which Triton is left to run as ever.
    """

    def __init__(self) -> None:
        self._taken = False
        triton = require("triton", distribution="triton", at_least=_TRITON, install="'triton>=3.6'", what="Triton")
        torch = require("torch", distribution="torch", at_least=_TORCH, install="'torch>=2.11'", what="PyTorch")
        self.active = not (physical_count() or torch.cuda.is_available())
        if not self.active:
            warnings.warn(
                "there is a physical GPU here: Triton runs on it as ever, and gridstride.frameworks.triton() changes "
                "nothing. CUDA_VISIBLE_DEVICES= (empty) hides the GPU",
                stacklevel=3,
            )
        elif triton.knobs.runtime.interpret:
            raise RuntimeError("TRITON_INTERPRET=1 leaves nothing to compile for the virtual GPU: unset it")
        else:
            _PLACES.take()
            self._taken = True

    def __enter__(self) -> Activation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.deactivate()

    def deactivate(self) -> None:
        """Give Triton the driver that it had before, unless others have set ours too."""
        was_active, self._taken = self._taken, False
        if was_active:
            _PLACES.leave()

    def __repr__(self) -> str:
        return f"<Triton {'on the virtual GPU' if self.active else 'on the physical GPU, as ever'}>"


@contextmanager
def virtual_driver() -> Iterator[None]:
    """Our driver for a while, wherever Triton is fit for it; costs next to nothing where it is set already."""
    _PLACES.take()
    try:
        yield
    finally:
        _PLACES.leave()


class _Places:
    """Where Triton looks for its driver, its stages and its benchmarks: ours are there while anybody wants them.

    They are the process's, and threads come and go in any order, so what was there before is back after the last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: dict[str, Any] = {}

    def take(self) -> None:
        with self._lock:
            if not self._users:
                self._before = _set()
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                _put_back(self._before)


_PLACES = _Places()


def _set() -> dict[str, Any]:
    """Put ours there; what was there before."""
    import triton.testing
    from triton import knobs
    from triton.runtime.driver import driver

    from gridstride.frameworks.dynamo_launches import end_graphs_at_launches
    from gridstride.frameworks.observers import benchmark
    from gridstride.frameworks.triton_driver import VirtualDriver, hand_over_ptx

    end_graphs_at_launches()
    before = {name: getattr(triton.testing, name) for name in _BENCHMARKS}
    before |= {"driver": driver._active, "stages": knobs.runtime.add_stages_inspection_hook}
    driver.set_active(VirtualDriver())
    knobs.runtime.add_stages_inspection_hook = hand_over_ptx
    for name in _BENCHMARKS:
        setattr(triton.testing, name, benchmark)
    return before


def _put_back(before: dict[str, Any]) -> None:
    import triton.testing
    from triton import knobs
    from triton.runtime.driver import driver

    driver.set_active(before["driver"])
    knobs.runtime.add_stages_inspection_hook = before["stages"]
    for name in _BENCHMARKS:
        setattr(triton.testing, name, before[name])
