"""The optimiser: AdamW, or Muon for the matrices with AdamW for the rest; clipping that knows sharded parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from gridstride.train.config import run_config as settings
from gridstride.train.optim.muon import WideMuon
from gridstride.train.optim.precision import Precision

_TABLES = ("embed_tokens", "embed_positions", "lm_head")


class Optimisers:
    """One or two of PyTorch's optimisers as one; `parts` for who saves their state."""

    def __init__(self, parts: Iterable[torch.optim.Optimizer]) -> None:
        self.parts = tuple(parts)
        for group in self._groups():
            group.setdefault("peak", group["lr"])

    def scale(self, factor: float) -> float:
        """Set each learning rate to its peak times the factor; gives the first one."""
        for group in self._groups():
            group["lr"] = group["peak"] * factor
        return self.rate

    @property
    def rate(self) -> float:
        return float(self.parts[0].param_groups[0]["lr"])

    def step(self, act: Callable[[torch.optim.Optimizer], object] = lambda part: part.step()) -> None:
        """Step all parts; `act` steps one where a gradient scaler must do it."""
        for part in self.parts:
            act(part)

    def zero_grad(self) -> None:
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def _groups(self) -> Iterable[dict[str, Any]]:
        return (group for part in self.parts for group in part.param_groups)


def build(model: nn.Module, config: settings.OptimiserSection, precision: Precision) -> Optimisers:
    """Weight decay for matrices only: norms and biases are scales and shifts, and tables see most rows rarely.

    PyTorch's Muon multiplies in bf16, so it is for devices where that is fast. It takes single matrices: those of
    experts, which lie in one tensor, are AdamW's.
    """
    matrices, stacks, tables, remaining = _sorted(model)
    groups = [{"params": tables, "weight_decay": 0.0}, {"params": remaining, "weight_decay": 0.0}]
    if config.kind == "muon":
        kind = WideMuon if (precision.device, precision.name) == ("cpu", "fp32") else torch.optim.Muon
        muon = kind(matrices, lr=config.matrix_lr, weight_decay=config.weight_decay, momentum=config.momentum)
        groups.append({"params": stacks, "weight_decay": config.weight_decay})
        return Optimisers([muon, _adamw(groups, config)])
    decayed = {"params": matrices + stacks, "weight_decay": config.weight_decay}
    return Optimisers([_adamw([decayed, *groups], config)])


def _sorted(model: nn.Module) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """Matrices, those of all experts together, tables, and what has one axis."""
    matrices: list[Tensor] = []
    stacks: list[Tensor] = []
    tables: list[Tensor] = []
    remaining: list[Tensor] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        table = any(word in name for word in _TABLES)
        layered = stacks if parameter.ndim > 2 else matrices
        (remaining if parameter.ndim < 2 else tables if table else layered).append(parameter)
    return matrices, stacks, tables, remaining


def _adamw(groups: list[dict[str, Any]], config: settings.OptimiserSection) -> torch.optim.Optimizer:
    groups = [group for group in groups if group["params"]]
    betas = (config.beta1, config.beta2)
    # fused: one pass over memory for all of it, on CPUs and GPUs alike
    return torch.optim.AdamW(groups, lr=config.lr, betas=betas, eps=config.eps, fused=True)


@torch.no_grad()
def clip(parameters: Iterable[Tensor], norm: float) -> Tensor:
    """Scale gradients in place so that their common 2-norm is at most `norm`; gives the norm before, a plain scalar.

    Plain tensors and DTensors of any meshes may be mixed, which torch.nn.utils.clip_grad_norm_ refuses. With 0 it
    only measures.
    """
    kinds: dict[object, list[Tensor]] = {}
    for parameter in parameters:
        if parameter.grad is not None:
            kinds.setdefault(_kind(parameter.grad), []).append(parameter.grad)
    norms = [_full_tensor(torch.nn.utils.get_total_norm(grads, foreach=None)) for grads in kinds.values()]
    total = torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.zeros(())
    if norm:
        scale = (norm / (total + 1e-6)).clamp(max=1.0)
        for grads in kinds.values():
            torch._foreach_mul_([g.to_local() if isinstance(g, DTensor) else g for g in grads], scale)
    return total


def _kind(grad: Tensor) -> object:
    """Gradients that one foreach operation can take together."""
    return (grad.device_mesh, grad.placements) if isinstance(grad, DTensor) else grad.device


def _full_tensor(norm: Tensor) -> Tensor:
    return norm.full_tensor() if isinstance(norm, DTensor) else norm
