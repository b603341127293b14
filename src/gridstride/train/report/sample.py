"""A trained model's own writing: what it goes on with after a few beginnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gridstride.models.decoder import Decoder
from gridstride.models.text.tokenizer import Tokenizer

BEGINNINGS = ("def read_", "class Queue:\n    def __init__(self", "import os\n")


@torch.no_grad()
def sample(
    decoder: Decoder, tokenizer: Any, beginning: str, *, tokens: int, seed: int = 0, temperature: float = 0.85
) -> str:
    """`beginning` and what the model writes after it; it sees as many tokens back as its context holds.

    Slow, as nothing is cached: for a look at the end of a run. `gridstride generate` is the tool.
    """
    end = tokenizer.token_to_id("<|endoftext|>")
    ids: list[int] = [end, *tokenizer.encode(beginning).ids]
    generator = torch.Generator().manual_seed(seed)

    def drawn(logits: Tensor) -> int:
        weights = (logits[: tokenizer.get_vocab_size()] / temperature).softmax(-1)
        return int(torch.multinomial(weights, 1, generator=generator))

    ids += _continued(decoder, ids, drawn, tokens=tokens, ends=frozenset((end,)))
    text: str = tokenizer.decode(ids[1:])
    return text


@torch.no_grad()
def answer(decoder: Decoder, tokenizer: Tokenizer, prompt: Sequence[int], *, tokens: int) -> str:
    """The prompt as it was given, and what the model most likely answers."""
    tokens_drawn = _continued(decoder, prompt, lambda logits: int(logits.argmax()), tokens=tokens, ends=tokenizer.eos)
    return tokenizer.decode([*prompt, *tokens_drawn], special=True)


def _continued(
    decoder: Decoder, ids: Sequence[int], draw: Callable[[Tensor], int], *, tokens: int, ends: frozenset[int]
) -> list[int]:
    """The tokens after these, `draw` from logits [vocabulary] each; without the one that ends them."""
    device, tokens_drawn = decoder.embed_tokens.weight.device, list[int]()
    while len(tokens_drawn) < tokens:
        row = torch.tensor([[*ids, *tokens_drawn][-decoder.config.context :]], device=device)
        token = draw(decoder.logits(decoder(row)[:, -1]).float().cpu()[0])
        if token in ends:
            break
        tokens_drawn.append(token)
    return tokens_drawn
