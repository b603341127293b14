"""A byte-level BPE trained on the text itself, and the files by which others can use it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

END = "<|endoftext|>"
"""Ends a document; id 0."""
CHAT = ("<|system|>", "<|user|>", "<|assistant|>")
"""Reserved for who fine-tunes the model on conversations; no text holds them."""
SPECIAL = (END, *CHAT)

# A word, a number, a run of signs or a line's end with the next line's indentation is one candidate for a token, so
# that in Python the step to the next line costs one token. GPT-4's pattern (cl100k), but for the line's end.
PATTERN = r"(?:[ \t]*\r?\n)+[ \t]*|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# The model was trained on documents, not on conversations: it goes on where the messages end.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
)


def train(texts: Iterable[str], *, vocabulary: int) -> Any:
    """A tokenizers.Tokenizer of at most `vocabulary` tokens; fewer where the text is short."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def load(file: Path) -> Any:
    """The tokenizers.Tokenizer of a tokenizer.json."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(file))


def token_bytes(tokenizer: Any) -> list[bytes]:
    """The bytes that each token stands for; special ones stand for none."""
    alphabet = {sign: byte for byte, sign in _byte_signs().items()}
    words = {number: word for word, number in tokenizer.get_vocab().items()}
    special = set(SPECIAL)
    return [
        b"" if words[i] in special else bytes(alphabet[sign] for sign in words[i])
        for i in range(tokenizer.get_vocab_size())
    ]


def _byte_signs() -> dict[int, str]:
    """GPT-2's printable sign for each byte, as byte-level tokenizers spell their vocabulary."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    unprintable = (byte for byte in range(256) if byte not in set(printable))
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(unprintable)}


def files(tokenizer: Any, *, context: int) -> dict[str, str]:
    """What a model folder holds of its tokenizer, by file name: itself, its chat template, how to sample."""
    end = tokenizer.token_to_id(END)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "bos_token": None,
        "pad_token": END,
        "additional_special_tokens": list(CHAT),
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
        "chat_template": CHAT_TEMPLATE,
    }
    sampling = {"eos_token_id": end, "pad_token_id": end, "do_sample": True, "temperature": 0.8, "top_p": 0.95}
    return {
        "tokenizer.json": tokenizer.to_str(pretty=True),
        "tokenizer_config.json": json.dumps(settings, indent=2) + "\n",
        "generation_config.json": json.dumps(sampling, indent=2) + "\n",
    }
