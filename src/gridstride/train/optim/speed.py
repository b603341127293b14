"""What MFU is measured against: the operations per second that a device could do."""

from __future__ import annotations

import torch

from gridstride.train.optim.precision import Precision, matmul_rates

# Dense 16-bit products with fp32 sums, and plain fp32, in operations per second, from NVIDIA's data sheets (H200, H100
# SXM, A100, GeForce RTX 4090's white paper, T4). MFU is by custom a share of these, whatever the clock.
_SHEETS: dict[str, tuple[float, float]] = {
    "H200": (989.4e12, 67e12),
    "H100": (989.4e12, 67e12),
    "A100": (312e12, 19.5e12),
    "RTX 4090": (165.2e12, 82.6e12),
    "T4": (65e12, 8.1e12),
}


def peak(device: torch.device, precision: Precision) -> tuple[float, str]:
    """Operations per second that the device could do in this precision, and where the figure is from."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        for chip, rates in _SHEETS.items():
            if chip in name:
                return rates[precision.name == "fp32"], f"{name}, dense {precision.name}, data sheet"
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision.name, torch.float32)
    size = 8192 if device.type == "cuda" else 768
    (rate,) = matmul_rates(device, (dtype,), size=size)
    return rate, f"{size}x{size} {precision.name} matrix product, measured at the start"
