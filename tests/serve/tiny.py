"""A model folder of random weights, small enough to be served within milliseconds a token on one core."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

CORPUS = ["def add(a, b):\n    return a + b\n", "import os, sys\nprint(os.getcwd())\n", "naïve café – 你好 🙂\n"]
SPECIAL = ["<|end|>", "<|start|>"]
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
VOCABULARY, CONTEXT = 320, 128


def write_tokenizer(
    folder: Path, *, template: str | None = TEMPLATE, special: Sequence[str] = (), added: Sequence[str] = ()
) -> None:
    """A byte-level BPE, so that any text can be written, with a chat template. `added`: tokens that are not called
    special, as Qwen's marks of calls and thoughts.
    """
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers

    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(added), special_tokens=[*SPECIAL, *special], initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([tokenizers.AddedToken(each, special=False, normalized=False) for each in added])
    tokenizer.save(str(folder / "tokenizer.json"))
    # Else transformers would read it as the tokenizer that the model's family has.
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": SPECIAL[0]}
    config |= {} if template is None else {"chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_model(
    folder: Path, *, context: int = CONTEXT, template: str | None = TEMPLATE, special: Sequence[str] = (),
    added: Sequence[str] = (),
) -> Path:  # fmt: skip
    """A folder that `gridstride serve` takes."""
    import torch

    from gridstride.models.config import DecoderConfig
    from gridstride.models.decoder import Decoder
    from gridstride.models.huggingface import folder as folders

    config = DecoderConfig(
        family="qwen3", vocabulary=VOCABULARY, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48,
        context=context, tied=False, head_norm=True,
    )  # fmt: skip
    torch.manual_seed(0)
    folders.save(Decoder(config), folder)
    write_tokenizer(folder, template=template, special=special, added=added)
    return folder
