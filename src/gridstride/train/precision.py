"""How matrix products are computed: autocast, loss scaling, and which is faster here."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import torch

Name = Literal["fp32", "bf16", "fp16"]
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


def choose(wanted: str, device: torch.device) -> Precision:
    """What was asked for; for "auto" bf16 where it is faster than fp32."""
    if wanted != "auto":
        return Precision(wanted, device.type)  # type: ignore[arg-type]  # the configuration has checked it
    if device.type == "cuda":
        return Precision("bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16", device.type)
    return Precision("bf16" if matmul_rate(device, torch.bfloat16) > 1.2 * matmul_rate(device) else "fp32", device.type)


def matmul_rate(device: torch.device, dtype: torch.dtype = torch.float32, *, size: int = 768, calls: int = 4) -> float:
    """Operations per second of a square matrix product, the best of a few calls: what MFU is measured against."""
    a = torch.randn(size, size).to(device, dtype)
    best = float("inf")
    for _ in range(calls + 1):  # the first one warms up
        start = time.perf_counter()
        a @ a
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best
