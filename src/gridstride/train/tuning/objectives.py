"""What fine-tuning makes small: the loss of answers, or of the preference between two (Rafailov et al. 2023, DPO)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models import lora
from gridstride.models.decoder import Decoder, packed
from gridstride.models.experts import balance_loss, router_logits
from gridstride.train.data.packing import IGNORED


class AnswerLoss(nn.Module):
    """Mean loss, in nats, of the tokens of packed rows that are an answer's.

    In training `router_loss` times `balance_loss` is added, as transformers' `router_aux_loss_coef` has it; a batch's
    is the mean of its micro-batches', which is not quite that of all its rows.
    """

    def __init__(self, decoder: Decoder, *, router_loss: float = 0.0) -> None:
        super().__init__()
        self.decoder, self.router_loss = decoder, router_loss

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor, positions_BT: Tensor, segments_BT: Tensor) -> Tensor:
        attend = packed(segments_BT)
        if not (self.training and self.router_loss):
            return self._answers(self.decoder(tokens_BT, positions_BT, attend), targets_BT)
        with router_logits(self.decoder) as routed:
            loss = self._answers(self.decoder(tokens_BT, positions_BT, attend), targets_BT)
        return loss + self.router_loss * balance_loss(routed)

    def _answers(self, hidden: Tensor, targets_BT: Tensor) -> Tensor:
        learned = targets_BT != IGNORED  # logits of these alone: of a large vocabulary they are most of the memory
        return F.cross_entropy(self.decoder.logits(hidden[learned]).float(), targets_BT[learned])


class PreferenceLoss(nn.Module):
    """-log sigmoid(beta * margin), the mean over pairs.

    The margin is by how much more the decoder likes the chosen answer than the rejected one, beyond what its base did.
    The base is a frozen copy, or the decoder itself without its updates.
    """

    def __init__(self, decoder: Decoder, *, beta: float, base: Decoder | None = None) -> None:
        super().__init__()
        self.decoder, self.beta, self.base = decoder, beta, base

    def forward(self, tokens_P2T: Tensor, targets_P2T: Tensor) -> Tensor:
        return -F.logsigmoid(self.beta * self.margins(tokens_P2T, targets_P2T)).mean()

    def margins(self, tokens_P2T: Tensor, targets_P2T: Tensor) -> Tensor:
        """[P], in nats."""
        with torch.no_grad():
            if self.base is None:
                with lora.disabled(self.decoder):
                    base_logprobs = answer_logprobs(self.decoder, tokens_P2T, targets_P2T)
            else:
                base_logprobs = answer_logprobs(self.base, tokens_P2T, targets_P2T)
        gained = answer_logprobs(self.decoder, tokens_P2T, targets_P2T) - base_logprobs
        return gained[:, 0] - gained[:, 1]


def answer_logprobs(decoder: Decoder, tokens: Tensor, targets: Tensor) -> Tensor:
    """Of sequences [..., T] the log-probability of their targets together, [...]."""
    tokens, shape = tokens.flatten(0, -2), tokens.shape[:-1]
    targets = targets.flatten(0, -2)
    learned = targets != IGNORED
    logprobs = -F.cross_entropy(decoder.logits(decoder(tokens)[learned]).float(), targets[learned], reduction="none")
    whose = learned.nonzero()[:, 0]
    return torch.zeros(len(tokens), device=logprobs.device).index_add(0, whose, logprobs).view(shape)
