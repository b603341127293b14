"""transformers' loss of next tokens by our cross-entropy: of logits that are there, or of those that never are."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.kernels.cross_entropy.linear import divided, sum_of_losses
from gridstride.kernels.cross_entropy.op import losses

_OF_THE_LOSS = ("labels", "shift_labels", "num_items_in_batch", "ignore_index")
_IGNORED = -100


def causal_loss(
    logits: Tensor, labels: Tensor | None, vocab_size: int, num_items_in_batch: Tensor | int | None = None,
    ignore_index: int = _IGNORED, shift_labels: Tensor | None = None, **options: Any,
) -> Tensor:  # fmt: skip
    """transformers' loss of next tokens, in float32, without its float32 copy of the logits."""
    target = _next(labels, shift_labels, ignore_index).to(logits.device)
    losses_of_rows = losses(logits.reshape(-1, vocab_size), target, ignore_index)
    return _shared(losses_of_rows.sum(), target, num_items_in_batch, ignore_index)


def without_logits(model: nn.Module, *args: Any, **options: Any) -> Any:
    """A training step's forward pass whose output has a loss and no logits; any other pass is the model's own."""
    if not _is_plain_step(model, args, options):
        return type(model).forward(model, *args, **options)
    from transformers.modeling_outputs import CausalLMOutputWithPast

    loss_options = {name: options.pop(name, None) for name in _OF_THE_LOSS}
    ignored = _IGNORED if loss_options["ignore_index"] is None else int(loss_options["ignore_index"])
    output = model.base_model(*args, **options)
    hidden, head = output.last_hidden_state, model.get_output_embeddings()
    target = _next(loss_options["labels"], loss_options["shift_labels"], ignored).to(hidden.device)
    total = sum_of_losses(hidden.flatten(0, -2), head.weight, target, ignored)
    return CausalLMOutputWithPast(
        loss=_shared(total, target, loss_options["num_items_in_batch"], ignored),
        past_key_values=output.past_key_values,
        hidden_states=output.hidden_states,
        attentions=output.attentions,
    )


def _is_plain_step(model: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether nothing but the loss is asked for, of a head that is one product."""
    head = model.get_output_embeddings()
    as_object = options.get("return_dict")
    return (
        model.training
        and torch.is_grad_enabled()
        and options.get("labels") is not None
        and len(args) <= 1  # input_ids
        and (model.config.return_dict if as_object is None else as_object)
        and "logits_to_keep" not in options
        and type(head) is nn.Linear
        and head.bias is None
        and not (head._forward_hooks or head._forward_pre_hooks or head._backward_hooks or head._backward_pre_hooks)
        and not torch.compiler.is_compiling()
    )


def _next(labels: Tensor | None, shift_labels: Tensor | None, ignored: int) -> Tensor:
    """The label of each token, flat: its successor's."""
    if shift_labels is None:
        assert labels is not None
        shift_labels = F.pad(labels, (0, 1), value=ignored)[..., 1:]
    return shift_labels.reshape(-1)


def _shared(total: Tensor, target: Tensor, count: Tensor | int | None, ignored: int) -> Tensor:
    """The loss of a token, by how many count; the caller's number is that of several batches together."""
    if count is None:
        return divided(total, (target != ignored).sum())
    return total / (count.to(total.device) if isinstance(count, Tensor) else count)
