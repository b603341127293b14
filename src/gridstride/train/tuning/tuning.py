"""Fine-tuning as a task of the trainer: rows of answers, or pairs of them; an adapter, or a whole model."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gridstride.models import cost, lora
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import adapter
from gridstride.models.huggingface import folder as models
from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.config import run_config as settings
from gridstride.train.data.conversations import (
    PreferencePair,
    Rows,
    Template,
    TrainingExample,
    conversations,
    preferences,
)
from gridstride.train.data.packing import packed, paired, stacked
from gridstride.train.data.sequences import row_numbers
from gridstride.train.errors import TrainError
from gridstride.train.report.curve import draw
from gridstride.train.report.sample import answer
from gridstride.train.task import RankBatch
from gridstride.train.trainer import share_of_rows
from gridstride.train.tuning.base import Base
from gridstride.train.tuning.objectives import AnswerLoss, PreferenceLoss

_SHOWN, _ANSWER = 3, 64  # answers of the result to prompts held out, and their tokens at most


def base_of(config: settings.Config) -> Base:
    """The model that this run goes on from; nothing of it is read yet."""
    return Base(Path(config.tune.base).expanduser(), config.tune)


def task(config: settings.Config, say: Callable[[str], None]) -> Answers | Preferences:
    """The task of a configuration that names a base; says what its rows are. TrainError where they cannot be used."""
    base = base_of(config)
    length = min(config.data.sequence, base.shape.context)
    template = Template(base.tokenizer, base.template)
    say(f"{'preferences' if config.tune.objective == 'dpo' else 'conversations'}: {config.data.source}")
    share = config.data.validation_share
    answers: Answers | Preferences
    if config.tune.objective == "dpo":
        answers = Preferences(
            config, base, preferences(config.data.source, template, length=length, share=share), length
        )
    else:
        answers = Answers(config, base, conversations(config.data.source, template, length=length, share=share), length)
    if left_out := answers.rows.left_out(length):
        say(f"left out: {left_out}")
    say(answers.summary())
    return answers


class Tuning:
    """What both objectives share of a `Task`."""

    begins_trained = True
    tokens_per_step: float
    count: int  # rows of an epoch

    def __init__(self, config: settings.Config, base: Base, rows: Rows[Any], length: int) -> None:
        self.config, self.base, self.rows, self.length = config, base, rows, length
        self.fingerprint = f"{rows.fingerprint}-{base.digest}"
        self.shape = base.shape
        # of frozen weights no gradients are computed: two thirds of the work are left
        frozen = 1.0 if base.lora is None else 2 / 3
        self.flops_per_token = cost.train_flops(self.shape, length, causal=True) * frozen
        self._rank, self._world = share_of_rows(config)
        self.lora = base.lora  # what cannot be updated is said before anything is loaded

    @property
    def steps(self) -> int:
        run = self.config.run
        return 0 if run.minutes else math.ceil(self.count * self.config.tune.epochs / run.batch)

    def numbers(self, step: int, *, rank: int = 0, world: int = 1) -> list[int]:
        """Rows of a step, or of a rank's share of it."""
        run = self.config.run
        return row_numbers(step, count=self.count, batch=run.batch, seed=run.seed, rank=rank, world=world)

    def load(self) -> Decoder:
        torch.manual_seed(self.config.run.seed)
        return self.base.load().train()

    def export(self, decoder: Decoder, folder: RunFolder) -> None:
        base = self.base
        if self.lora is not None:
            adapter.save(decoder, folder.adapter, base=base.folder.absolute(), lora=self.lora, files=base.own_template)
        else:
            self._write_merged(decoder, folder)

    def exported(self, decoder: Decoder, folder: RunFolder) -> Mapping[str, Tensor]:
        if self.lora is None:
            return models.load(folder.model).state_dict()
        state = dict(decoder.state_dict())
        for name, halves in adapter.read(folder.adapter, self.base.folder).weights.items():
            state[f"{name}.lora_A"], state[f"{name}.lora_B"] = halves
        return state

    def described(self) -> dict[str, Any]:
        rows = self.rows
        return {
            "fingerprint": self.fingerprint, "base": str(self.base.folder), "rows": rows.count,
            "too_long": len(rows.too_long), "train": len(rows.train), "held_out": len(rows.validation),
        }  # fmt: skip

    def finish(
        self, objective: nn.Module, folder: RunFolder, record: dict[str, Any], *, say: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> bool:  # fmt: skip
        """Answers to prompts held out, the picture, and where it is asked for the whole model."""
        objective.eval()
        decoder, template = objective.decoder, Template(self.base.tokenizer, self.base.template)
        prompts = [template.prompt(messages) for messages in self.rows.prompts[:_SHOWN]]
        record["samples"] = [answer(decoder, self.base.tokenizer, ids, tokens=_ANSWER) for ids in prompts]
        record["base_validation_loss"] = _first_validation(folder)
        record |= self.judged(objective)
        lora_alone = self.lora is not None
        record["result"] = str(folder.adapter if lora_alone else folder.model)
        if lora_alone and self.config.tune.merged:
            self._write_merged(decoder, folder)
            record["merged"] = str(folder.model)
        if not draw(folder, folder.path / "curve.png"):
            say("no curve.png: that needs matplotlib, pip install 'gridstride[train]'")
        return not stopped()

    def judged(self, objective: nn.Module) -> dict[str, float]:
        """What else is known of the result."""
        return {}

    def _write_merged(self, decoder: Decoder, folder: RunFolder) -> None:
        base = self.base
        state = {name: value.to(base.dtype) for name, value in lora.merged(decoder).items()}
        models.save_state(self.shape, state, folder.model, eos=base.tokenizer.eos, files=base.files)


class Answers(Tuning):
    """Supervised fine-tuning on packed conversations."""

    rows: Rows[TrainingExample]

    def __init__(self, config: settings.Config, base: Base, rows: Rows[TrainingExample], length: int) -> None:
        super().__init__(config, base, rows, length)
        if config.tune.router_loss and self.shape.experts is None:
            raise TrainError(f"tune.router_loss = {config.tune.router_loss:g}: {base.folder} has no experts")
        self.train, self.held_out = packed(rows.train, length), packed(rows.validation, length)
        self.count = len(self.train)
        self.learned = [row.learned for row in self.train]
        self.tokens_per_step = float(config.run.batch * length)

    def summary(self) -> str:
        tokens = sum(len(example.tokens) for example in self.rows.train)
        answers = sum(self.learned)
        full = tokens / (self.count * self.length)
        return (
            f"{len(self.rows.train)} conversations in {self.count} rows of {self.length} tokens ({full:.0%} full), "
            f"{answers:,} of {tokens:,} tokens are answers; {len(self.rows.validation)} conversations held out"
        )

    def objective(self) -> nn.Module:
        return AnswerLoss(self.load(), router_loss=self.config.tune.router_loss)

    def batch(self, step: int) -> RankBatch:
        mine = self.numbers(step, rank=self._rank, world=self._world)
        total = sum(self.learned[number] for number in self.numbers(step)) / self._world
        return RankBatch(stacked([self.train[n] for n in mine]), tuple(self.learned[n] for n in mine), total)

    def validation(self, *, most: int | None) -> list[RankBatch]:
        run, batches = self.config.run, []
        size = run.micro_batch or run.batch
        chosen = [self.held_out[i] for i in spread(len(self.held_out), most)]
        for first in range(0, len(chosen), size):
            rows = chosen[first : first + size]
            weights = tuple(row.learned for row in rows)
            batches.append(RankBatch(stacked(rows), weights, sum(weights)))
        return batches

    def figures(self, loss: float) -> dict[str, float]:
        return {"validation_perplexity": math.exp(min(loss, 700.0))}


class Preferences(Tuning):
    """Direct preference optimisation on pairs of answers."""

    rows: Rows[PreferencePair]

    def __init__(self, config: settings.Config, base: Base, rows: Rows[PreferencePair], length: int) -> None:
        super().__init__(config, base, rows, length)
        self.count = len(rows.train)
        self.tokens_per_step = config.run.batch * 2.0 * float(np.mean([pair.length for pair in rows.train]))
        self.flops_per_token *= 4 / 3 if base.lora is None else 3 / 2  # the base looks at each token too

    def summary(self) -> str:
        return f"{self.count} pairs, {len(self.rows.validation)} held out"

    def objective(self) -> nn.Module:
        decoder = self.load()
        base = copy.deepcopy(decoder).requires_grad_(False) if self.lora is None else None
        return PreferenceLoss(decoder, beta=self.config.tune.beta, base=base)

    def batch(self, step: int) -> RankBatch:
        mine = self.numbers(step, rank=self._rank, world=self._world)
        return self._batch([self.rows.train[n] for n in mine])

    def validation(self, *, most: int | None) -> list[RankBatch]:
        run = self.config.run
        size = run.micro_batch or run.batch
        chosen = [self.rows.validation[i] for i in spread(len(self.rows.validation), most)]
        return [self._batch(chosen[first : first + size]) for first in range(0, len(chosen), size)]

    def figures(self, loss: float) -> dict[str, float]:
        return {}

    @torch.no_grad()
    def judged(self, objective: nn.Module) -> dict[str, float]:
        """How often the chosen answer of a held-out pair has gained more than the rejected one, and by how much."""
        device = objective.decoder.embed_tokens.weight.device
        batches = [[tensor.to(device) for tensor in batch.tensors] for batch in self.validation(most=None)]
        margins = torch.cat([objective.margins(*tensors) for tensors in batches])
        return {"preferred": float((margins > 0).double().mean()), "margin": float(margins.double().mean())}

    def _batch(self, pairs: list[PreferencePair]) -> RankBatch:
        return RankBatch(paired(pairs, self.length), (1,) * len(pairs), len(pairs))


def spread(count: int, most: int | None) -> list[int]:
    """All of so many places, or `most` of them, evenly spread."""
    if most is None or most >= count:
        return list(range(count))
    return [int(number) for number in np.linspace(0, count - 1, most)]


def _first_validation(folder: RunFolder) -> float | None:
    """The loss before the first step, which is the base's."""
    entries = (entry for entry in folder.log_entries() if entry.get("step") == 0)
    return next((entry["validation_loss"] for entry in entries if "validation_loss" in entry), None)
