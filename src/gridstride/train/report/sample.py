"""A trained model's own writing: what it goes on with after a few beginnings."""

from __future__ import annotations

from typing import Any

import torch

from gridstride.models.decoder import Decoder

BEGINNINGS = ("def read_", "class Queue:\n    def __init__(self", "import os\n")


@torch.no_grad()
def sample(
    decoder: Decoder, tokenizer: Any, beginning: str, *, tokens: int, seed: int = 0, temperature: float = 0.85
) -> str:
    """`beginning` and what the model writes after it; it sees as many tokens back as its context holds.

    Slow, as nothing is cached: for a look at the end of a run. `gridstride generate` is the tool.
    """
    generator = torch.Generator().manual_seed(seed)
    device = decoder.embed_tokens.weight.device
    end = tokenizer.token_to_id("<|endoftext|>")
    ids: list[int] = [end, *tokenizer.encode(beginning).ids]
    for _ in range(tokens):
        row = torch.tensor([ids[-decoder.config.context :]], device=device)
        logits = decoder.logits(decoder(row)[:, -1]).float().cpu()[0, : tokenizer.get_vocab_size()]
        token = int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))
        if token == end:
            break
        ids.append(token)
    text: str = tokenizer.decode(ids[1:])
    return text
