"""How many ranks do what, and which arrangements a model and a batch allow. Knows nothing of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gridstride.models.config import DecoderConfig
from gridstride.train.errors import TrainError


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """`world` ranks in groups of `tensor` that share each matrix; groups are replicas ("ddp") or shards ("fsdp")."""

    world: int = 1
    mode: Literal["none", "ddp", "fsdp"] = "none"
    tensor: int = 1
    sequence: bool = False  # what lies between matrices is split by position over a tensor group

    @property
    def data(self) -> int:
        """How many groups there are, each with rows of its own."""
        return self.world // self.tensor

    @property
    def sharded(self) -> bool:
        """Whether no rank has all weights."""
        return self.world > 1 and (self.mode == "fsdp" or self.tensor > 1)

    def check(self, model: DecoderConfig, *, batch: int, length: int, fp16: bool = False) -> None:
        """Raise TrainError with all that keeps a model from being trained so: rows per step, their length in tokens."""
        faults = [*self._counts(batch), *self._splits(model, length)]
        if fp16 and self.sharded:
            faults.append("fp16 scales its loss by what each rank sees; with fsdp or tensor ranks use bf16 or fp32")
        if faults:
            raise TrainError("parallel: " + "; ".join(faults))

    def _counts(self, batch: int) -> Iterator[str]:
        world, tensor = self.world, self.tensor
        if world % tensor:
            yield f"parallel.tensor = {tensor} needs a multiple of {tensor} processes, not {world} (--processes N)"
        elif self.mode == "none" and self.data > 1:
            yield f"{world} processes, but parallel.mode = 'none' has work for {tensor}: set it to 'ddp' or 'fsdp'"
        elif self.mode == "ddp" and tensor > 1:
            yield f"parallel.tensor = {tensor} goes with parallel.mode = 'fsdp' or 'none', not with 'ddp'"
        elif batch % self.data:
            yield f"a batch of {batch} sequences does not split over {self.data} ranks: make it a multiple"

    def _splits(self, model: DecoderConfig, length: int) -> Iterator[str]:
        sizes = {"heads": model.heads, "kv_heads": model.kv_heads, "hidden": model.hidden}
        sizes |= {"vocabulary": model.vocabulary}
        if model.rotary_base is None:
            sizes["context"] = model.context
        if self.sequence:
            sizes["data.sequence"] = length
        if self.tensor > 1 and (model.experts is not None or model.norm_around or model.joint_norm):
            yield f"parallel.tensor = {self.tensor} does not know the layers of {model.family}: use fsdp alone"
        for name, size in sizes.items():
            if size % self.tensor:
                yield f"{name} = {size} is no multiple of parallel.tensor = {self.tensor}"
