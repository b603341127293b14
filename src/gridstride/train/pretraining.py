"""Pretraining: a new decoder on the text's windows, compared with counts of the same text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from gridstride.models import cost
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder as models
from gridstride.train import evaluate, model
from gridstride.train.checkpoint import export
from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.config import run_config as settings
from gridstride.train.data.prepare import TokenisedText, described
from gridstride.train.data.sequences import WindowSampler, windows_in_order
from gridstride.train.errors import TrainError
from gridstride.train.report import baselines as counts
from gridstride.train.report.curve import draw
from gridstride.train.report.sample import BEGINNINGS, sample
from gridstride.train.task import RankBatch
from gridstride.train.trainer import WithLoss, share_of_rows


class Pretraining:
    """A `Task`; TrainError where there is less than a few windows of text."""

    steps, begins_trained = 0, False

    def __init__(self, config: settings.Config, prepared: TokenisedText) -> None:
        self.config, self.prepared = config, prepared
        self.fingerprint, self.shape = prepared.fingerprint, model.shape(config, prepared.vocabulary)
        self.tokens_per_step = float(config.run.batch * config.data.sequence)
        self.flops_per_token = cost.train_flops(self.shape, config.data.sequence, causal=True)
        self._sampler = _sampler(config, prepared)

    def objective(self) -> nn.Module:
        return WithLoss(model.build(self.config, self.prepared.vocabulary))

    def batch(self, step: int) -> RankBatch:
        inputs, targets = self._sampler.rows(step)
        return RankBatch((inputs, targets), (1,) * len(inputs), len(inputs))

    def validation(self, *, most: int | None) -> list[RankBatch]:
        run, sequence = self.config.run, self.config.data.sequence
        windows = windows_in_order(
            self.prepared.validation(), sequence=sequence, batch=run.micro_batch or run.batch, most=most
        )
        return [RankBatch((rows[:, :-1], rows[:, 1:]), (1,) * len(rows), len(rows)) for rows in windows]

    def figures(self, loss: float) -> dict[str, float]:
        return {"validation_bits_per_byte": evaluate.bits_per_byte(loss, self.prepared)}

    def export(self, decoder: Decoder, folder: RunFolder) -> None:
        export.write(decoder, self.prepared, folder.model)

    def exported(self, decoder: Decoder, folder: RunFolder) -> Mapping[str, Tensor]:
        return models.load(folder.model).state_dict()

    def described(self) -> dict[str, Any]:
        return described(self.prepared)

    def finish(
        self, objective: nn.Module, folder: RunFolder, record: dict[str, Any], *, say: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> bool:  # fmt: skip
        """Baselines, samples and the picture."""
        say("counting trigrams of the same text, to compare with")
        baselines = counts.measure(self.prepared, stopped=stopped)
        if baselines is None:
            return False
        record["baselines_bits_per_byte"] = asdict(baselines)
        decoder = models.load(folder.model, device=objective.decoder.embed_tokens.weight.device)
        tokens = min(160, self.config.data.sequence)
        tokenizer = self.prepared.tokenizer()
        record["samples"] = [sample(decoder, tokenizer, text, tokens=tokens) for text in BEGINNINGS]
        if not draw(folder, folder.path / "curve.png", trigram=baselines.token_trigram_nats):
            say("no curve.png: that needs matplotlib, pip install 'gridstride[train]'")
        return True


def _sampler(config: settings.Config, prepared: TokenisedText) -> WindowSampler:
    """This rank's part of the text."""
    sequence = config.data.sequence
    needed = {"train": 2 * sequence + 1, "validation": sequence + 1}
    for name, least in needed.items():
        have = getattr(prepared, f"{name}_tokens")
        if have < least:
            smaller = f", or set data.sequence to {have // 4}" if have >= 32 else ""
            raise TrainError(
                f"data: the text gives {have} tokens for {name}; at least {least} are needed with data.sequence = "
                f"{sequence}. Give more text{smaller}"
            )
    rank, groups = share_of_rows(config)
    return WindowSampler(
        tokens=prepared.train(), sequence=sequence, batch=config.run.batch, seed=config.run.seed, rank=rank,
        world=groups,
    )  # fmt: skip
