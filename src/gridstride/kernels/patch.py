"""A Hugging Face decoder on our ops, and back: modules are swapped for ours that hold the same parameters, and the
middles of feed-forward layers and of attention run through our ops.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gridstride.kernels.causal_loss import causal_loss, without_logits
from gridstride.kernels.modules import GELU, Dropout, LayerNorm, RMSNorm
from gridstride.kernels.rotary.op import rotary
from gridstride.kernels.swiglu.op import swiglu

_PATCHED = "_gridstride_patched"
_INSTEAD = "_gridstride_instead_of"  # of a module of ours: the one whose place it has
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


# -- modules -----------------------------------------------------------------------------------------------------------
class _InPlace(nn.Module):
    """A module of ours in another one's place; the other one runs where a graph is compiled."""

    def forward(self, input: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            output: Tensor = getattr(self, _INSTEAD)[0](input)
            return output
        return super().forward(input)


class _RMSNorm(_InPlace, RMSNorm):
    pass


class _LayerNorm(_InPlace, LayerNorm):
    pass


class _GELU(_InPlace, GELU):
    pass


class _Dropout(_InPlace, Dropout):
    pass


def _rms_norm(module: nn.Module) -> nn.Module:
    replacement = _RMSNorm(module.weight.shape[-1], eps=module.variance_epsilon, device="meta")
    replacement.weight = module.weight
    return replacement


def _layer_norm(module: nn.Module) -> nn.Module:
    replacement = _LayerNorm(module.normalized_shape, module.eps, device="meta")
    replacement.weight, replacement.bias = module.weight, module.bias
    return replacement


class _Swap(NamedTuple):
    what: str
    named: tuple[str, ...]  # classes, of transformers and of PyTorch
    make: Callable[[nn.Module], nn.Module]


_SWAPS = (
    _Swap("RMS norm", ("LlamaRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm"), _rms_norm),
    _Swap("layer norm", ("LayerNorm",), _layer_norm),
    _Swap("GELU", ("NewGELUActivation", "GELUTanh"), lambda module: _GELU()),
    _Swap("dropout", ("Dropout",), lambda module: _Dropout(module.p)),
)
_OF_CLASS = {name: swap for swap in _SWAPS for name in swap.named}
_LEFT = "attention, for which PyTorch takes the fastest kernel already"


# -- forwards ----------------------------------------------------------------------------------------------------------
_ROTARY = "apply_rotary_pos_emb"  # what transformers' attention calls


def _gated(module: nn.Module, x: Tensor) -> Tensor:
    """A gated feed-forward layer."""
    if torch.compiler.is_compiling():
        output: Tensor = type(module).forward(module, x)
    else:
        output = module.down_proj(swiglu(module.gate_proj(x), module.up_proj(x)))
    return output


def _turning(module: nn.Module, *args: Any, **options: Any) -> Any:
    """Attention whose queries and keys our op turns."""
    forward = type(module).forward
    return (forward if torch.compiler.is_compiling() else _with_our_rotary(forward))(module, *args, **options)


@functools.cache
def _with_our_rotary(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same code, in which one name of its module stands for a function of ours; other models keep theirs."""
    inner = inspect.unwrap(forward)
    original = inner.__globals__[_ROTARY]
    namespace = {**inner.__globals__, _ROTARY: functools.partial(_rotated_pair, original)}
    replacement = types.FunctionType(inner.__code__, namespace, inner.__name__, inner.__defaults__, inner.__closure__)
    replacement.__kwdefaults__ = inner.__kwdefaults__
    return replacement


def _rotated_pair(
    original: Callable[..., Any], q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *args: Any, **options: Any
) -> Any:
    """Queries and keys [B, H, S, D]; what our op has not is theirs: other axes, other dtypes, a part of a head."""
    usual = not (args or options) and cos.dtype == q.dtype == k.dtype and cos.shape[-1] == q.shape[-1]
    if not usual or (q.is_cuda and q.shape[-1] * q.element_size() % 32):
        return original(q, k, cos, sin, *args, **options)
    return tuple(rotary(x.transpose(1, 2), cos, sin).transpose(1, 2) for x in (q, k))


class _Forward(NamedTuple):
    what: str
    named: tuple[str, ...]  # classes of transformers
    ours: Callable[..., Any]
    fits: Callable[[nn.Module], bool]


_FORWARDS = (
    _Forward(
        "gated SiLU", ("LlamaMLP", "Qwen2MLP", "Qwen3MLP"), _gated,
        lambda module: type(module.act_fn).__name__ in ("SiLU", "SiLUActivation"),
    ),
    _Forward(
        "rotary embedding", ("LlamaAttention", "Qwen2Attention", "Qwen3Attention"), _turning,
        lambda module: _ROTARY in inspect.unwrap(type(module).forward).__code__.co_names,
    ),
)  # fmt: skip
_FORWARD_OF_CLASS = {name: class_name for class_name in _FORWARDS for name in class_name.named}
_TYPES = ("gpt2", "llama", "qwen2", "qwen3")  # config.model_type


@dataclass(frozen=True, slots=True)
class Patched:
    """What `patch` has put in place: how many modules of each kind; `left` says what is still the model's own."""

    swapped: dict[str, int]
    left: str

    def __str__(self) -> str:
        swapped = ", ".join(f"{count} × {what}" for what, count in self.swapped.items())
        return f"{swapped}; left: {self.left}"


def patch(model: nn.Module, *, keep_logits: bool = True) -> Patched:
    """Put our ops into a transformers decoder, in place: norms, GELUs, dropouts, gated SiLUs, rotary embedding, loss.

    For Llama, Qwen 2, Qwen 3 and GPT-2. Parameters stay the same objects, state dicts the same; `unpatch` puts
    everything back. Under `torch.compile` the modules run as they were, since the compiler fuses them with their
    neighbours, and the loss is ours. ValueError for another model, and for one that is patched.

    Without `keep_logits` a training step with labels gives a loss and no logits (None), which are its largest tensor:
    they are made, used and thrown away a piece at a time (`ops.linear_cross_entropy`). Evaluation, generation and
    `torch.compile` keep them, and so does a head with a bias.
    """
    _check(model)
    if hasattr(model, _PATCHED):
        raise ValueError(f"this {type(model).__name__} is patched already: unpatch(model) first")
    counts: Counter[str] = Counter()
    for parent, name, child in list(_children(model)):
        swap = _OF_CLASS.get(type(child).__name__)
        if swap is not None and not (isinstance(child, nn.Dropout) and child.p == 0.0):
            _put(parent, name, child, swap.make(child))
            counts[swap.what] += 1
        counts.update(_redirect(child))
    setattr(model, _PATCHED, True)
    if "ForCausalLM" in str(getattr(model, "loss_type", "")) or type(model).__name__.endswith(
        ("CausalLM", "LMHeadModel")
    ):
        model.loss_function = causal_loss
        counts["cross-entropy"] = 1
        if not keep_logits and "forward" not in vars(model):
            _drop_logits(model)
    return Patched(dict(counts), _LEFT)


def unpatch(model: nn.Module) -> None:
    """Put back what `patch` took out: the very modules. ValueError for a model that is not patched."""
    if not hasattr(model, _PATCHED):
        raise ValueError(f"this {type(model).__name__} is not patched")
    for parent, name, child in list(_children(model)):
        _restore_forward(child)
        if hasattr(child, _INSTEAD):
            (original,) = getattr(child, _INSTEAD)
            for parameter, value in child.named_parameters(recurse=False):
                setattr(original, parameter, value)
            parent._modules[name] = original.train(child.training)
    if getattr(model, "_loss_function", None) is causal_loss:
        del model._loss_function
    _restore_forward(model)
    delattr(model, _PATCHED)


def _drop_logits(model: nn.Module) -> None:
    forward: Any = functools.partial(without_logits, model)
    forward.__signature__ = inspect.signature(model.forward)  # by it, trainers and generate see what a model takes
    model.forward = forward


def _restore_forward(module: nn.Module) -> None:
    if getattr(vars(module).get("forward"), "func", None) in (_gated, _turning, without_logits):
        del module.forward


def _check(model: nn.Module) -> None:
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind not in _TYPES:
        what = f" (model_type {kind!r})" if kind else ", which has no config of transformers"
        raise ValueError(f"model is a {type(model).__name__}{what}: patch knows {', '.join(_TYPES)}")


def _children(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Every module below with its parent and its name there."""
    for parent in model.modules():
        yield from ((parent, name, child) for name, child in parent.named_children())


def _redirect(module: nn.Module) -> list[str]:
    """What a module does by our ops from now on; one whose forward somebody has set already keeps that."""
    forward_name = _FORWARD_OF_CLASS.get(type(module).__name__)
    if forward_name is None or "forward" in vars(module) or not forward_name.fits(module):
        return []
    module.forward = functools.partial(forward_name.ours, module)
    return [forward_name.what]


def _put(parent: nn.Module, name: str, original: nn.Module, replacement: nn.Module) -> None:
    for hooks in _HOOKS:
        setattr(replacement, hooks, getattr(original, hooks))
    setattr(replacement, _INSTEAD, (original,))  # in a tuple: it is no child of ours
    parent._modules[name] = replacement.train(original.training)
