"""Setting Triton's driver, and setting it back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gridstride.compiler.frontends import require
from gridstride.device.physical.driver import physical_count
from gridstride.frameworks.shared_setting import SettingUser, SharedSetting

_TRITON = (3, 6)
_TORCH = (2, 11)
_BENCHMARKS = ("do_bench", "do_bench_cudagraph")


class Activation(SettingUser):
    """Triton on the virtual GPU from the moment that this is made; at the end of a `with` the driver before is back.

    `active` is False where a physical GPU is, on which Triton is left to run as ever.
    """

    def __init__(self) -> None:
        super().__init__(_PLACES)
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
            self.take()

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


class _Places(SharedSetting):
    """Where Triton looks for its driver, its stages and its benchmarks."""

    def __init__(self) -> None:
        super().__init__()
        self._saved: dict[str, Any] = {}

    def put_ours(self) -> None:
        self._saved = _set()

    def put_back(self) -> None:
        _put_back(self._saved)


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
    saved = {name: getattr(triton.testing, name) for name in _BENCHMARKS}
    saved |= {"driver": driver._active, "stages": knobs.runtime.add_stages_inspection_hook}
    driver.set_active(VirtualDriver())
    knobs.runtime.add_stages_inspection_hook = hand_over_ptx
    for name in _BENCHMARKS:
        setattr(triton.testing, name, benchmark)
    return saved


def _put_back(saved: dict[str, Any]) -> None:
    import triton.testing
    from triton import knobs
    from triton.runtime.driver import driver

    driver.set_active(saved["driver"])
    knobs.runtime.add_stages_inspection_hook = saved["stages"]
    for name in _BENCHMARKS:
        setattr(triton.testing, name, saved[name])
