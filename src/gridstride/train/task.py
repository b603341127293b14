"""What a run trains, as the trainer and its loop see it: pretraining on text, fine-tuning on answers or preferences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.train.checkpoint.folder import RunFolder


@dataclass(frozen=True, slots=True)
class RankBatch:
    """A rank's rows: tensors whose first axis are the rows, and how much each row counts.

    An objective gives the mean loss of some rows, by these weights. The batch's loss is the sum of such means times
    their weights, over `total`; so that the mean over ranks is the step's, `total` is that of all ranks per rank.
    """

    tensors: tuple[Tensor, ...]
    weights: tuple[int, ...]
    total: float

    def parts(self, size: int) -> Iterator[tuple[tuple[Tensor, ...], float]]:
        """At most `size` rows at once, and their share in the batch."""
        for first in range(0, len(self.weights), size):
            rows = slice(first, first + size)
            yield tuple(tensor[rows] for tensor in self.tensors), sum(self.weights[rows]) / self.total


class Task(Protocol):
    """Pretraining or fine-tuning; `fingerprint` names the data that a run must find again when it goes on."""

    fingerprint: str
    shape: DecoderConfig
    tokens_per_step: float
    flops_per_token: float
    begins_trained: bool  # whether there is something to validate before the first step

    @property
    def steps(self) -> int:
        """Of the run, where neither its steps nor minutes are given; 0: they are."""

    def objective(self) -> nn.Module:
        """A module with a `decoder`, on the CPU: rows' tensors -> their mean loss."""

    def batch(self, step: int) -> RankBatch:
        """This rank's share of a step's rows, which follow from the step and the seed alone."""

    def validation(self, *, most: int | None) -> list[RankBatch]:
        """What is held out, the same for all ranks; `most`: only so many rows."""

    def figures(self, loss: float) -> dict[str, float]:
        """What else a validation loss means."""

    def export(self, decoder: Decoder, folder: RunFolder) -> None:
        """Write what others load; ModelError where it cannot be written."""

    def exported(self, decoder: Decoder, folder: RunFolder) -> Mapping[str, Tensor]:
        """The state dict of a decoder such as this one with the weights that were written last."""

    def described(self) -> dict[str, Any]:
        """The data's figures, for a record."""

    def finish(
        self, objective: nn.Module, folder: RunFolder, record: dict[str, Any], *, say: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> bool:  # fmt: skip
        """What comes after training, put into the record and the folder; false where it was stopped."""
