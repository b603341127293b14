"""What a recorded decode step reads and writes: tensors that stay where they are, filled from the host in one copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridstride.serve.engine.batch import I32, Batch, Draw
from gridstride.serve.engine.random_numbers import uniforms
from gridstride.serve.engine.sampling import RULES, Sampling
from gridstride.serve.runner.cuda.host_copy import Packet

WISHES = {"temperature": "float32", "top_k": "int32", "top_p": "float32", "min_p": "float32"}
"""Options by which the recorded steps draw, beside the seed: each row has its own."""

if unmatched := {name for name, rule in RULES.items() if rule.use == "draw"} ^ {*WISHES, "seed"}:
    raise ImportError(f"graph_inputs.py: recorded steps must know every option that draws, and no other: {unmatched}")

_GREEDY = Sampling(temperature=0.0)  # of rows from which nothing is drawn


def put_draws(packet: Packet, draws: Sequence[Draw], rows: NDArray[np.integer[Any]], *, steps: int) -> None:
    """What the draws ask for into their rows, with the random numbers of their next `steps` tokens.

    Other rows take the likeliest token. "uniform" is [as many steps as there is room for, rows].
    """
    greedy = all(draw.sampling.greedy for draw in draws)
    for name in WISHES:
        view = packet.host_fields[name]
        view[:] = getattr(_GREEDY, name)
        if not greedy:
            view[rows] = [getattr(draw.sampling, name) for draw in draws]
    if not greedy:
        first = np.array([draw.index for draw in draws])
        points = uniforms([draw.sampling.seed for draw in draws], first + np.arange(steps)[:, None])
        packet.host_fields["uniform"].reshape(-1, len(packet.host_fields["top_p"]))[:steps, rows] = points


class GraphInputs:
    """Inputs of `rows` sequences for up to `steps` steps, the tokens drawn, and the last step's logits.

    `spare` is a block that belongs to nobody: rows without a sequence write there.
    """

    def __init__(self, rows: int, *, steps: int, width: int, spare: int, block_size: int, logits: Tensor) -> None:
        device = logits.device
        self.rows, self.block_size, self.logits, self._spare = rows, block_size, logits, spare
        self._packet = Packet(
            {"uniform": ("float64", steps * rows), "tokens": ("int64", rows), "positions": ("int64", rows),
             "slots": ("int64", rows), "sources": ("int64", rows), "step": ("int64", 1), "lengths": ("int32", rows),
             **{name: (dtype, rows) for name, dtype in WISHES.items()}, "tables": ("int32", rows * width)},
            device,
        )  # fmt: skip
        self.field = self._packet.device_fields
        self.step, self.uniform = self.field["step"], self.field["uniform"].view(steps, rows)
        self.tables = torch.full((rows, width), spare, dtype=torch.int32, device=device)
        self.drawn = torch.zeros((steps, rows), dtype=torch.int64, device=device)
        self._put_idle(0)
        self._packet.send()

    def fill(self, batch: Batch, drawn_before: Tensor | None = None) -> None:
        """Put a batch in which every sequence has one token in place; rows behind it stand idle.

        `drawn_before`: the tokens that the batch's `sources` point to, where it has any.
        """
        host_fields, count, width = self._packet.host_fields, len(batch.tokens), batch.blocks.shape[1]
        for name in ("tokens", "positions", "slots", "lengths"):
            host_fields[name][:count] = getattr(batch, name)
        self._put_idle(count)
        if batch.sources is not None:
            host_fields["sources"][:count], host_fields["sources"][count:] = batch.sources, -1
        put_draws(self._packet, batch.draws, batch.sampled, steps=batch.steps)
        host_fields["tables"][: count * width] = batch.blocks.ravel()
        self._packet.send(without=host_fields["tables"].nbytes - count * width * host_fields["tables"].itemsize)
        self.tables[:count, :width] = self.field["tables"][: count * width].view(count, width)
        if count < self.rows:
            self.tables[count:] = self._spare
        if batch.sources is not None:
            assert drawn_before is not None
            sources, tokens = self.field["sources"], self.field["tokens"]
            drawn = drawn_before.index_select(0, sources.clamp(min=0)).clamp(min=0)
            torch.where(sources >= 0, drawn, tokens, out=tokens)

    def drawn_from(self, batch: Batch) -> I32:
        """Rows of the batch's draws, of `drawn` [steps, rows] and `logits`."""
        return batch.sampled

    def _put_idle(self, count: int) -> None:
        for name in ("tokens", "positions", "lengths"):
            self._packet.host_fields[name][count:] = 0
        self._packet.host_fields["slots"][count:] = self._spare * self.block_size

    def advance(self, tokens: Tensor) -> None:
        """Note the tokens drawn, and make them the next step's input; every write is in place."""
        field = self.field
        self.drawn.index_copy_(0, self.step, tokens[None])
        self.step += 1
        field["tokens"].copy_(tokens.clamp(min=0))
        field["positions"] += 1
        field["lengths"] += (field["lengths"] > 0).int()
        column = (field["positions"] // self.block_size).clamp(max=self.tables.shape[1] - 1)
        block = self.tables.gather(1, column[:, None])[:, 0].long()
        torch.add(block * self.block_size, field["positions"] % self.block_size, out=field["slots"])
