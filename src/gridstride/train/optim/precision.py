"""How matrix products are computed: autocast, loss scaling, and which is faster here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import torch

Name = Literal["fp32", "bf16", "fp16"]
_CALLS = 24
_LONG = 1.0  # seconds of measuring after which a slow product is known well enough: bf16 without instructions for it
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Precision:
    """Weights are fp32; inside `autocast` their products are in the named type."""

    name: Name
    device: str

    def autocast(self) -> AbstractContextManager[Any]:
        dtype = _DTYPES.get(self.name, torch.bfloat16)
        context: AbstractContextManager[Any] = torch.autocast(self.device, dtype=dtype, enabled=self.name != "fp32")
        return context

    def scaler(self) -> torch.amp.GradScaler:
        """fp16 gradients underflow unless the loss is scaled; in the other types this does nothing."""
        return torch.amp.GradScaler(self.device, enabled=self.name == "fp16")


def choose(name: str, device: torch.device) -> Precision:
    """What was asked for; for "auto" bf16 where it is faster than fp32."""
    if name != "auto":
        return Precision(name, device.type)  # type: ignore[arg-type]  # the configuration has checked it
    if device.type == "cuda":
        return Precision("bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16", device.type)
    narrow, wide = matmul_rates(device, (torch.bfloat16, torch.float32))
    return Precision("bf16" if narrow > 1.2 * wide else "fp32", device.type)


def matmul_rates(device: torch.device, dtypes: Sequence[torch.dtype], *, size: int = 768) -> list[float]:
    """Operations per second of a square matrix product in each type.

    The best of many short calls, or of a few long ones, in turn: what else the machine does meanwhile is left out, and
    hits none alone.
    """
    own = torch.Generator().manual_seed(0)  # a run draws the same numbers whether it is measured or not
    matrices = [torch.randn(size, size, generator=own).to(device, dtype) for dtype in dtypes]
    best = [float("inf")] * len(matrices)
    spent = 0.0
    for call in range(_CALLS):
        for i, matrix in enumerate(matrices):
            seconds = _seconds(matrix)
            best[i] = min(best[i], seconds)
            spent += seconds
        if spent > _LONG and call:  # the first call loads and compiles
            break
    return [2 * size**3 / seconds for seconds in best]


def _seconds(matrix: torch.Tensor) -> float:
    start = time.perf_counter()
    matrix @ matrix
    if matrix.device.type == "cuda":
        torch.cuda.synchronize(matrix.device)
    return time.perf_counter() - start
