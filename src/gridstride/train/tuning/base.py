"""The model that fine-tuning goes on from: its shape, its tokenizer, and what of its folder goes into the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from gridstride.models import lora
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import adapter
from gridstride.models.huggingface import folder as models
from gridstride.models.huggingface.fields import read_text
from gridstride.models.lora import LoraConfig
from gridstride.models.text import chat
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.train.config import run_config as settings
from gridstride.train.errors import TrainError

_KEPT = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"),
    *("chat_template.jinja", "added_tokens.json"),
)
_TEMPLATE = "chat_template.jinja"


@dataclass(frozen=True)
class Base:
    """TrainError for a folder that cannot be gone on from."""

    folder: Path
    tune: settings.TuneSection

    @cached_property
    def shape(self) -> DecoderConfig:
        with tuning_errors():
            return models.read_config(models.find(str(self.folder)))

    @cached_property
    def lora(self) -> LoraConfig | None:
        """None where all weights are trained."""
        tune = self.tune
        if tune.method == "full":
            return None
        with tuning_errors("tune.targets: "):
            targets = lora.targets(tune.targets, self.shape)
        if tune.rank > (widest := lora.widest(targets, self.shape)):
            raise TrainError(
                f"tune.rank = {tune.rank} is above {widest}, the width of the widest layer that it updates: such an "
                "update has more weights than the layer. --set tune.method=full trains these"
            )
        return LoraConfig(rank=tune.rank, alpha=tune.alpha, targets=targets, dropout=tune.dropout)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        with tuning_errors():
            return Tokenizer.load(self.folder)

    @cached_property
    def template(self) -> str:
        with tuning_errors():
            own = chat.template(self.folder) if not self.tune.template else read_text(Path(self.tune.template))
        if own is None:
            raise TrainError(
                f"{self.folder} has no chat template, so it is not known how a conversation is written: "
                "--set tune.template=FILE gives one"
            )
        return own

    def load(self) -> Decoder:
        """In fp32, on the CPU; with LoRA its layers have updates that change nothing yet, drawn by torch's seed."""
        with tuning_errors():
            decoder = models.load(self.folder, dtype=torch.float32)
        if self.lora is not None:
            lora.add(decoder, self.lora)
        return decoder

    @cached_property
    def digest(self) -> str:
        with tuning_errors():
            return adapter.digest(self.folder)

    @cached_property
    def files(self) -> dict[str, str]:
        """Texts that a whole model's folder has beside its weights."""
        texts = {name: read_text(self.folder / name) for name in _KEPT if (self.folder / name).is_file()}
        return texts | self.own_template

    @property
    def own_template(self) -> dict[str, str]:
        """The template, where it is not the folder's."""
        return {_TEMPLATE: self.template} if self.tune.template else {}

    @cached_property
    def dtype(self) -> torch.dtype:
        """The type of the folder's weights, in which whole models are written."""
        return models.stored_dtype(self.folder)


@contextmanager
def tuning_errors(prefix: str = "") -> Iterator[None]:
    """A model's mistakes are mistakes of what was asked for."""
    try:
        yield
    except ModelError as error:
        raise TrainError(f"{prefix}{error}") from error
