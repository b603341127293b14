"""How the ranks of a tensor-parallel group share each matrix of a decoder (Shoeybi et al. 2019, Megatron-LM).

Queries, keys, values, gate and up are split by output (each rank has whole heads), the two projections back by input,
so that a layer needs two sums over ranks. Embedding and output are split by vocabulary, and so are the logits: the
loss is computed without any rank seeing all of them. With `sequence`, what lies between (norms and the residual
stream) is split by position (Korthikanti et al. 2022): the sums become scatters and gathers of the same volume, and
each rank keeps a part of those activations.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    parallelize_module,
)

from gridstride.models.decoder import Decoder

Plan = dict[str, ParallelStyle]
_POSITIONS, _HEADS = 1, 2  # dimensions of [B, T, H, D]


class Norm(ParallelStyle):
    """A norm whose weights every rank has, on activations that may be split along one dimension.

    It computes on this rank's part with ordinary tensors, so that any op will do. Where ranks see different parts, each
    has only a part of the weights' gradient; the redistribution's backward sums them.
    """

    def __init__(self, *, split: bool) -> None:
        super().__init__()
        self.gradients = (Partial(),) if split else (Replicate(),)

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        distribute_module(module, device_mesh)  # its weights become replicated DTensors
        module.register_forward_pre_hook(self._before)
        module.register_forward_hook(self._after, always_call=True)
        return module

    def _before(self, module: nn.Module, _: Any) -> None:
        for name, weight in module.named_parameters(recurse=False):
            full_weight = weight.redistribute(placements=(Replicate(),))
            module.__dict__[name] = full_weight.to_local(
                grad_placements=self.gradients
            )  # found before the parameter is

    def _after(self, module: nn.Module, *_: Any) -> None:
        for name, _weight in module.named_parameters(recurse=False):
            module.__dict__.pop(name, None)


def spread(decoder: Decoder, mesh: DeviceMesh, *, sequence: bool = False) -> None:
    """Split a decoder's weights over a one-dimensional mesh, in place; its logits become a DTensor split by vocabulary.

    Heads, key/value heads, hidden width and vocabulary must be multiples of the mesh's size, and with `sequence` the
    number of positions too.
    """
    parallelize_module(decoder, mesh, _plan(decoder, sequence=sequence))
    if decoder.config.tied:  # both were split alike, each by itself
        decoder.lm_head.weight = decoder.embed_tokens.weight


def _plan(decoder: Decoder, *, sequence: bool) -> Plan:
    between = Shard(_POSITIONS) if sequence else Replicate()
    plan: Plan = {
        "embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
        "norm": Norm(split=sequence),
        "lm_head": ColwiseParallel(input_layouts=between, output_layouts=Shard(-1), use_local_output=False),
    }
    if decoder.embed_positions is not None:
        plan["embed_positions"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=between)
    for name, style in _layer(between, gated=hasattr(decoder.layers[0].mlp, "gate_proj")).items():
        plan[f"layers.*.{name}"] = style
    if decoder.config.head_norm:
        plan |= {f"layers.*.self_attn.{name}": Norm(split=True) for name in ("q_norm", "k_norm")}
    return plan


def _layer(between: Shard | Replicate, *, gated: bool) -> Plan:
    replicated = Replicate()
    columns = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.up_proj"]
    columns += ["mlp.gate_proj"] if gated else []
    return {
        "input_layernorm": Norm(split=between != replicated),
        "post_attention_layernorm": Norm(split=between != replicated),
        # Once for all that read it: their gradients are added before they are summed over ranks.
        "self_attn": PrepareModuleInput(
            input_layouts=(between, None, None), desired_input_layouts=(replicated, None, None)
        ),
        "mlp": PrepareModuleInput(input_layouts=(between,), desired_input_layouts=(replicated,)),
        **{name: ColwiseParallel() for name in columns},
        "self_attn.o_proj": RowwiseParallel(output_layouts=between),
        "mlp.down_proj": RowwiseParallel(output_layouts=between),
    }
