"""Small tokenizers of the kinds that model folders have."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

CORPUS = [
    "def hello(name):\n    return f'hello {name}'\n",
    "naïve café – 你好 🙂👍🏽 Здравствуйте\n" * 3,
    "import os, sys\n",
]
SPECIAL = ["<|end|>", "<|start|>"]


@cache
def byte_level(size: int = 300) -> Any:
    """As GPT-2, Llama 3 and Qwen have it: every byte has a token."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


@cache
def byte_fallback() -> Any:
    """As Llama 2 has it: words begin with ▁, unknown characters are spelt in bytes."""
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    names += ["▁", "h", "i", "▁h", "▁hi", "a", "▁a", "!", "é"]
    vocabulary = {name: id for id, name in enumerate(names)}
    merges = [("▁", "h"), ("▁h", "i"), ("▁", "a")]
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


@cache
def metaspace() -> Any:
    """As SentencePiece has it without bytes: what it does not know is unknown."""
    names = ["<unk>", "▁", "h", "i", "a", "!", "é", "▁h", "▁hi", "▁a"]
    merges = [("▁", "h"), ("▁h", "i"), ("▁", "a")]
    tokenizer = tokenizers.Tokenizer(models.BPE({name: id for id, name in enumerate(names)}, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer


def write(folder: Path, tokenizer: Any, **files: dict[str, Any]) -> Path:
    """A folder with the tokenizer and JSON files by their names without the ending."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, thing in files.items():
        (folder / f"{name}.json").write_text(json.dumps(thing))
    return folder
