"""PyTorch's Muon with its products in fp32, for processors that have no instructions for bf16.

PyTorch's own multiplies in bf16 wherever it runs: on such a processor a hundred times slower than in fp32, and nearly
nine tenths of a step of the default run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class WideMuon(torch.optim.Muon):
    """The same groups, state and updates as torch.optim.Muon, but for rounding; one tensor after the other."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every matrix that has a gradient; what the closure gives, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._update(matrix, group)
        return loss

    def _update(self, matrix: Tensor, group: dict[str, Any]) -> None:
        if group["adjust_lr_fn"] not in (None, "original"):
            raise ValueError(f"adjust_lr_fn {group['adjust_lr_fn']!r}: only 'original' is done in fp32")
        state, lr, momentum = self.state[matrix], float(group["lr"]), group["momentum"]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix.grad, memory_format=torch.preserve_format)
        buffer = state["momentum_buffer"].lerp_(matrix.grad, 1 - momentum)
        towards = torch.lerp(matrix.grad, buffer, momentum) if group["nesterov"] else buffer
        rows, columns = matrix.shape
        matrix.mul_(1 - lr * group["weight_decay"])
        update = orthogonal(towards, group["ns_coefficients"], steps=group["ns_steps"], eps=group["eps"])
        matrix.add_(update, alpha=-lr * math.sqrt(max(1, rows / columns)))


def orthogonal(x: Tensor, coefficients: tuple[float, float, float], *, steps: int, eps: float) -> Tensor:
    """x [M, N] with all singular values near 1, by Newton-Schulz: a x + b x x' x + c (x x')^2 x, again and again.

    Source: Keller Jordan, "Muon: An optimizer for hidden layers in neural networks", 2024.
    """
    a, b, c = coefficients
    wide = x.T if x.shape[0] > x.shape[1] else x  # the smaller square
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if x.shape[0] > x.shape[1] else wide
