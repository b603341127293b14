"""A mixture of experts: a router sends each token to a few of many gated layers (Shazeer et al. 2017, section 2).

Every expert's weights are a slice of one tensor, so that tokens sorted by expert need one product for each expert that
has any, or one grouped product for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models import ops
from gridstride.models.config import DecoderConfig

_DEVIATION = 0.02  # of normal weights, as Mixtral and Qwen3-MoE begin with


class Experts(nn.Module):
    """The weights of all experts: gate and up [E, 2 * hidden, width], down [E, width, hidden]."""

    def __init__(self, count: int, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(count, 2 * hidden, width))
        self.down_proj = nn.Parameter(torch.empty(count, width, hidden))
        for weight in (self.gate_up_proj, self.down_proj):
            nn.init.normal_(weight, std=_DEVIATION)

    def forward(self, rows: Tensor, counts: Tensor) -> Tensor:
        """[R, width] of rows [R, width] that stand expert by expert, `counts` [E] of each."""
        gate, up = ops.grouped_linear(rows, self.gate_up_proj, counts).chunk(2, dim=-1)
        return ops.grouped_linear(ops.silu_mul(gate, up), self.down_proj, counts)


class MixtureOfExperts(nn.Module):
    """The sum of a token's likeliest experts, each times its share of the router's softmax."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        assert config.experts is not None
        self.per_token, self.normed = config.experts.per_token, config.experts.normed
        self.router = nn.Linear(config.width, config.experts.count, bias=False)
        self.experts = Experts(config.experts.count, config.width, config.experts.hidden)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, -2)
        shares, chosen = self.router(tokens).float().softmax(dim=-1).topk(self.per_token, dim=-1)
        if self.normed:
            shares = shares / shares.sum(dim=-1, keepdim=True)
        flat = chosen.flatten()
        order = flat.argsort(stable=True)
        # bincount would wait for the device to learn how many there are.
        counts = flat.new_zeros(self.router.out_features).scatter_add_(0, flat, torch.ones_like(flat))
        out = self.experts(tokens[order // self.per_token], counts)
        # Back to where they came from and summed there: adding rows in place has no fixed order on a GPU.
        back = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        per_token = out[back].unflatten(0, (-1, self.per_token))
        return (per_token * shares.unsqueeze(-1)).sum(dim=1).to(x.dtype).view(x.shape)


@contextmanager
def router_logits(decoder: nn.Module) -> Iterator[list[tuple[Tensor, int]]]:
    """Inside, a list takes what each router gives: logits [tokens, E], and how many experts a token has."""
    calls: list[tuple[Tensor, int]] = []
    mixtures = [module for module in decoder.modules() if isinstance(module, MixtureOfExperts)]
    hooks = [
        mixture.router.register_forward_hook(lambda _, __, out, k=mixture.per_token: calls.append((out, k)))
        for mixture in mixtures
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def balance_loss(routed: list[tuple[Tensor, int]]) -> Tensor:
    """1 times the experts of a token where all are used alike, more the less they are (Fedus et al. 2021, equation 4).

    As transformers has it: over the tokens of all layers together, the share of tokens that an expert got times the
    router's mean probability for it, summed and times the number of experts.
    """
    logits = torch.cat([logits.float() for logits, _ in routed])
    shares = logits.softmax(dim=-1)
    experts, per_token = logits.shape[-1], routed[0][1]
    got = F.one_hot(shares.topk(per_token, dim=-1).indices, experts).sum(dim=1).float().mean(dim=0)
    return experts * (got * shares.mean(dim=0)).sum()
