"""A rank's part of a decoder for serving (Shoeybi et al. 2019, Megatron-LM): whole heads, a slice of each MLP.

Each rank sees the same residual stream: the two projections back to it give a part of a sum over ranks. Embedding and
output stay whole on every rank.
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError

Sum = Callable[[Tensor], None]
"""Over ranks, in place."""
_BY_OUTPUT = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
_BY_INPUT = ("self_attn.o_proj", "mlp.down_proj")


class SummedLinear(nn.Module):
    """A linear layer of which each rank has some inputs; the bias is added once."""

    def __init__(self, weight: Tensor, bias: Tensor | None, sum: Sum) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self._sum = sum

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, self.weight)
        self._sum(y)
        return y if self.bias is None else y + self.bias


def check(config: DecoderConfig, ranks: int) -> None:
    """ModelError for a decoder that cannot be cut into so many equal parts."""
    if config.joint_norm and ranks > 1:
        raise ModelError(
            f"--tensor-parallel-size {ranks}: {config.family} norms all heads of a token together, and no rank has them"
        )
    if config.experts is not None and ranks > 1:
        raise ModelError(
            f"--tensor-parallel-size {ranks}: {config.family} has mixtures of experts, which are not cut into parts; "
            "leave it out"
        )
    for name in ("heads", "kv_heads", "hidden"):
        size = getattr(config, name)
        if size % ranks:
            raise ModelError(
                f"--tensor-parallel-size {ranks}: the model's {name} are {size}, which is no multiple of it"
            )


def keep(decoder: Decoder, *, rank: int, ranks: int, sum: Sum) -> None:
    """Cut a decoder down to a rank's part, in place."""
    check(decoder.config, ranks)
    for layer in decoder.layers:
        modules = dict(layer.named_modules())
        for name in (name for name in _BY_OUTPUT if name in modules):
            _keep_outputs(modules[name], rank, ranks)
        for name in _BY_INPUT:
            linear = modules[name]
            parent, _, leaf = name.rpartition(".")
            weight = linear.weight.detach().chunk(ranks, dim=1)[rank].clone()
            bias = None if linear.bias is None else linear.bias.detach()
            setattr(modules[parent], leaf, SummedLinear(weight, bias, sum))


def _keep_outputs(linear: nn.Module, rank: int, ranks: int) -> None:
    for name, parameter in list(linear.named_parameters()):
        part = parameter.detach().chunk(ranks)[rank].clone()
        setattr(linear, name, nn.Parameter(part, requires_grad=False))
