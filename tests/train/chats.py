"""A small chat model of random weights, and conversations and preferences to tune it with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers, trainers

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder as folders
from gridstride.train.checkpoint.folder import begin, opened
from gridstride.train.config import run_config as settings
from gridstride.train.trainer import Trainer
from gridstride.train.tuning import tuning

SPECIAL = ["<|end|>", "<|start|>"]
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
MARKED = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|end|>"
    "{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
VOCABULARY, CONTEXT = 300, 96
SMALL = (
    "data.sequence=64", "data.validation_share=0.2", "run.batch=2", "run.device=cpu", "run.precision=fp32",
    "run.log_every=1", "run.evaluate_every=5", "run.save_every=5", "run.save_minutes=0", "run.steps=12", "tune.rank=4",
    "tune.alpha=8", "optimiser.lr=0.02", "schedule.warmup=2", "run.threads=1",
)  # fmt: skip
WORDS = "red green blue left right open close read write one two three".split()


def write_base(folder: Path, *, template: str | None = TEMPLATE, seed: int = 0, **changes: Any) -> Path:
    """A model folder; `changes` are of its config."""
    sizes: dict[str, Any] = {
        "family": "llama", "vocabulary": VOCABULARY, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2,
        "head_width": 8, "hidden": 48, "context": CONTEXT,
    }  # fmt: skip
    torch.manual_seed(seed)
    decoder = Decoder(DecoderConfig(**(sizes | changes)))
    with torch.no_grad():
        for weight in decoder.parameters():
            weight.copy_(torch.randn(weight.shape) * 0.2 + (weight.dim() == 1) * 0.8)
    folders.save(decoder, folder)
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    tokenizer.train_from_iterator([" ".join(WORDS), "user assistant system"] * 3, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": SPECIAL[0]}
    about |= {} if template is None else {"chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder


def chat(question: str, reply: str, *more: str) -> dict[str, Any]:
    """A row of conversations; `more` are further turns."""
    roles = ["user", "assistant"] * (1 + len(more) // 2)
    turns = zip(roles, (question, reply, *more), strict=True)
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def write_rows(file: Path, rows: list[Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def conversations(count: int = 24, seed: int = 0) -> list[dict[str, Any]]:
    """Each answer is the question's words turned round."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        words = draw.sample(WORDS, draw.randint(2, 4))
        rows.append(chat(" ".join(words), " ".join(reversed(words))))
    return rows


def preferences(count: int = 24, seed: int = 0) -> list[dict[str, Any]]:
    """The chosen answer is of small letters, the other one of capitals."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        words = draw.sample(WORDS, 2)
        rows.append({"prompt": " ".join(words), "chosen": words[0], "rejected": words[0].upper()})
    return rows


def config(folder: Path, *changes: str) -> settings.Config:
    """A run of a base and rows in this folder, which are made where they are missing."""
    if not (folder / "base").exists():
        write_base(folder / "base")
        write_rows(folder / "chats.jsonl", conversations())
        write_rows(folder / "pairs.jsonl", preferences())
    data = "pairs" if "tune.objective=dpo" in changes else "chats"
    places = (f"tune.base={folder}/base", f"data.source={folder}/{data}.jsonl", f"run.folder={folder}/runs")
    return settings.load(changes=(*SMALL, *places, *changes))


def trainer(folder: Path, *changes: str, resume: bool = False) -> Trainer:
    chosen = config(folder, *changes)
    made = Trainer(chosen, opened(chosen, resume=resume, overwrite=not resume), tuning.task(chosen, lambda _: None))
    begin(made.folder, chosen, anew=not resume)
    if resume:
        assert made.resume()
    return made
