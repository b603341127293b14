"""A Hugging Face decoder on our ops, and back: modules are swapped for ours that hold the same parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.kernels.attention.op import attention
from gridstride.kernels.modules import GELU, Dropout, LayerNorm, RMSNorm

_ATTENTION = "gridstride"
_LEFT = "_gridstride_left"  # the model's own attention, while ours is in its place
_INSTEAD = "_gridstride_instead_of"  # of a module of ours: the one whose place it has
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


# -- modules -----------------------------------------------------------------------------------------------------------
def _rms_norm(module: nn.Module) -> nn.Module:
    ours = RMSNorm(module.weight.shape[-1], eps=module.variance_epsilon, device="meta")
    ours.weight = module.weight
    return ours


def _layer_norm(module: nn.Module) -> nn.Module:
    ours = LayerNorm(module.normalized_shape, module.eps, device="meta")
    ours.weight, ours.bias = module.weight, module.bias
    return ours


class _Swap(NamedTuple):
    what: str
    named: tuple[str, ...]  # classes, of transformers and of PyTorch
    make: Callable[[nn.Module], nn.Module]


_SWAPS = (
    _Swap("RMS norm", ("LlamaRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm"), _rms_norm),
    _Swap("layer norm", ("LayerNorm",), _layer_norm),
    _Swap("GELU", ("NewGELUActivation", "GELUTanh"), lambda module: GELU()),
    _Swap("dropout", ("Dropout",), lambda module: Dropout(module.p)),
)
_OF_CLASS = {name: swap for swap in _SWAPS for name in swap.named}
_TYPES = ("gpt2", "llama", "qwen2", "qwen3")  # config.model_type


@dataclass(frozen=True, slots=True)
class Patched:
    """What `patch` has put in place: how many modules of each kind; `left` says what is still the model's own."""

    swapped: dict[str, int]
    left: str

    def __str__(self) -> str:
        swapped = ", ".join(f"{count} × {what}" for what, count in self.swapped.items())
        return swapped + (f"; left: {self.left}" if self.left else "")


def patch(model: nn.Module) -> Patched:
    """Swap the norms, GELUs, dropouts, attention and loss of a transformers decoder for ours, in place.

    For Llama, Qwen 2, Qwen 3 and GPT-2. Parameters stay the same objects, state dicts the same; `unpatch` puts
    everything back. ValueError for another model, and for one that is patched.
    """
    _check(model)
    if hasattr(model, _LEFT):
        raise ValueError(f"this {type(model).__name__} is patched already: unpatch(model) first")
    found: Counter[str] = Counter()
    for parent, name, child in list(_children(model)):
        swap = _OF_CLASS.get(type(child).__name__)
        if swap is not None and not (isinstance(child, nn.Dropout) and child.p == 0.0):
            _put(parent, name, child, swap.make(child))
            found[swap.what] += 1
    own = model.config._attn_implementation
    if own == "sdpa":
        _register_attention()
        model.set_attn_implementation(_ATTENTION)
        found["attention"] = model.config.num_hidden_layers
    setattr(model, _LEFT, own)
    if "ForCausalLM" in str(getattr(model, "loss_type", "")) or type(model).__name__.endswith(
        ("CausalLM", "LMHeadModel")
    ):
        model.loss_function = causal_loss
        found["cross-entropy"] = 1
    left = ["rotary embedding and gated SiLU, whose ops have no gradient"] * (model.config.model_type != "gpt2")
    left += [f"attention, which is {own!r} and not 'sdpa'"] * (own != "sdpa")
    return Patched(dict(found), "; ".join(left))


def unpatch(model: nn.Module) -> None:
    """Put back what `patch` took out: the very modules. ValueError for a model that is not patched."""
    own = getattr(model, _LEFT, None)
    if own is None:
        raise ValueError(f"this {type(model).__name__} is not patched")
    for parent, name, child in list(_children(model)):
        if hasattr(child, _INSTEAD):
            (before,) = getattr(child, _INSTEAD)
            for parameter, value in child.named_parameters(recurse=False):
                setattr(before, parameter, value)
            parent._modules[name] = before.train(child.training)
    if own == "sdpa":
        model.set_attn_implementation(own)
    if getattr(model, "_loss_function", None) is causal_loss:
        del model._loss_function
    delattr(model, _LEFT)


def _check(model: nn.Module) -> None:
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind not in _TYPES:
        what = f" (model_type {kind!r})" if kind else ", which has no config of transformers"
        raise ValueError(f"model is a {type(model).__name__}{what}: patch knows {', '.join(_TYPES)}")


def _children(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Every module below with its parent and its name there."""
    for parent in model.modules():
        yield from ((parent, name, child) for name, child in parent.named_children())


def _put(parent: nn.Module, name: str, before: nn.Module, ours: nn.Module) -> None:
    for hooks in _HOOKS:
        setattr(ours, hooks, getattr(before, hooks))
    setattr(ours, _INSTEAD, (before,))  # in a tuple: it is no child of ours
    parent._modules[name] = ours.train(before.training)


# -- attention and loss ------------------------------------------------------------------------------------------------
def _register_attention() -> None:
    """By the name that models look it up with; its masks are SDPA's, which are None where causal is all there is."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(_ATTENTION, _attention)
    AttentionMaskInterface.register(_ATTENTION, sdpa_mask)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, dropout: float = 0.0,
    scaling: float | None = None, is_causal: bool | None = None, **others: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """As transformers calls it: [B, heads, Q, D] in, [B, Q, heads, D] out. PyTorch's own under a mask or dropout."""
    if attention_mask is not None or dropout or others.get("position_bias") is not None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        given = {"dropout": dropout, "scaling": scaling, "is_causal": is_causal, **others}
        found: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return found
    queries = query.shape[2]
    causal = queries > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal)
    if causal:
        key, value = key[:, :, :queries], value[:, :, :queries]
    out = attention(query, key, value, past=0 if causal else None, scale=scaling)
    return out.transpose(1, 2).contiguous(), None


def causal_loss(
    logits: Tensor, labels: Tensor, vocab_size: int, num_items_in_batch: Tensor | int | None = None,
    ignore_index: int = -100, shift_labels: Tensor | None = None, **others: Any,
) -> Tensor:  # fmt: skip
    """transformers' loss of next tokens, in float32, without its float32 copy of the logits."""
    if shift_labels is None:
        shift_labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    target = shift_labels.reshape(-1).to(logits.device)
    each, _ = torch.ops.gridstride.cross_entropy(logits.reshape(-1, vocab_size), target, ignore_index)
    count = (target != ignore_index).sum() if num_items_in_batch is None else num_items_in_batch
    total: Tensor = each.sum() / (count.to(each.device) if isinstance(count, Tensor) else count)
    return total
