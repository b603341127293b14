"""The trained model as a Hugging Face folder: what `gridstride serve` and others load."""

from __future__ import annotations

from pathlib import Path

from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder
from gridstride.train.data import tokenizer as bpe
from gridstride.train.data.prepare import TokenisedText


def write(decoder: Decoder, prepared: TokenisedText, target: Path) -> None:
    """Config, weights, tokenizer and chat template, the whole folder or none of it.

    Raises models.errors.ModelError where it cannot be written; what was there before is intact then.
    """
    tokenizer = prepared.tokenizer()
    files = bpe.files(tokenizer, context=decoder.config.context)
    folder.save(decoder, target, eos=(tokenizer.token_to_id(bpe.END),), files=files)
