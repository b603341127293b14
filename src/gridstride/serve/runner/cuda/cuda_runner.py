"""The runner for GPUs: decoding from CUDA graphs, several steps a call, and prompts from graphs of their own.

Sequences with one new token are decoded by a graph of the next larger bucket, `batch.steps` times. Chunks of prompts,
and tokens with proposed ones behind them, go through a graph of the next larger number of tokens, once and all in one
pass. Both are queued before the host waits for either, and the next batch behind them, if there is one: its sequences
go on from the tokens that these leave on the device.
What a token needs beside its logits (penalties, schemas, log-probabilities) the host does, from the graph's logits.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gridstride.kernels.decode_step.op import DecodeStep, DecodeWeights, geometry
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.prompt_attention.op import why_not_here
from gridstride.kernels.sample.op import sample as draw_tokens
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import I32, Batch, Draw, Reading, RunnerCode, Sampled, TokenLogprobs
from gridstride.serve.runner.cuda import batch_parts, prompts
from gridstride.serve.runner.cuda.fused import FusedDecoder
from gridstride.serve.runner.cuda.graph_inputs import GraphInputs
from gridstride.serve.runner.cuda.graphs import GraphRecorder, Step
from gridstride.serve.runner.cuda.host_copy import HostCopy
from gridstride.serve.runner.cuda.last_tokens import LastTokens
from gridstride.serve.runner.cuda.prompt_keys import GatheredKeys, PagedKeys, PromptKeys
from gridstride.serve.runner.cuda.prompts import MOST_KEYS, MOST_SEQUENCES, TOKENS, PassSize, PromptInputs
from gridstride.serve.runner.torch.reading import readings
from gridstride.serve.runner.torch.sampler import sample

BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256)
"""Sequences of a recorded step; a batch is filled up to the next one."""
STEPS, STEPS_ALONE = 8, 32
"""Tokens ahead of the host of several sequences and of one: about 10 ms, of which the host takes 0.1."""
PASS = batch_parts.PassLimits(tokens=TOKENS[-1], keys=MOST_KEYS, sequences=MOST_SEQUENCES)
"""Larger passes over prompts gain nothing: the GPU is busy with these. Keys count where they are gathered."""
Inputs = GraphInputs | PromptInputs


@dataclass(frozen=True, slots=True)
class GraphSizes:
    """What is recorded: sequences of a step, new tokens of a pass over prompts (others run op by op), and steps ahead
    of the host, of several sequences and of one.
    """

    buckets: Sequence[int] = BUCKETS
    prompts: Sequence[int] = TOKENS
    steps: int = STEPS
    steps_alone: int = STEPS_ALONE


@dataclass(frozen=True, slots=True)
class Queued:
    """A part's draws, for when the device is there."""

    part: batch_parts.BatchPart
    drawn: HostCopy  # [steps, rows]
    rows: I32  # [M] of the draws
    draws: tuple[Draw, ...]  # [M]
    special: tuple[int, ...]  # those that the host makes
    logits: Tensor | None  # theirs
    readings: tuple[Reading, ...]

    def read(self) -> Sampled:
        """Waits for the device."""
        tokens = np.ascontiguousarray(self.drawn.read()[:, self.rows].T)
        logprobs: list[tuple[TokenLogprobs, ...] | None] = [None] * len(self.draws)
        if self.logits is not None:
            sampled = sample(self.logits, [self.draws[i] for i in self.special])
            for i, drawn, row_logprobs in zip(self.special, sampled.tokens, sampled.logprobs, strict=True):
                tokens[i], logprobs[i] = drawn, row_logprobs
        return Sampled(tokens, tuple(logprobs), self.readings)


@dataclass(frozen=True, slots=True)
class QueuedParts:
    """A batch that the device has."""

    parts: tuple[Queued, ...]
    steps: int

    def read(self) -> Sampled:
        """Waits for all of it."""
        with torch.inference_mode():
            return batch_parts.joined([(part.read(), part.part) for part in self.parts], steps=self.steps)


class CudaRunner:
    """A decoder with its cache [layers, blocks, K, block_size, D] for keys and one for values.

    On a CPU it runs the same code without graphs. ValueError for a decoder that the kernels are not for. With
    `one_launch` a single bf16 sequence is decoded by one launch for all steps where the model's sizes allow it, at the
    price of a second copy of the weights.
    """

    adapters = 0
    verifies = True
    code = RunnerCode("kernels", "the project's kernels")

    def __init__(
        self, decoder: Decoder, *, blocks: int, block_size: int, device: torch.device | str | None = None,
        sizes: GraphSizes = GraphSizes(), one_launch: bool = True,
    ) -> None:  # fmt: skip
        decoder = decoder if device is None else decoder.to(device)
        config = decoder.config
        self.model = FusedDecoder(decoder)
        self.blocks, self.block_size, self.steps = blocks, block_size, sizes.steps
        self.context, self.vocabulary, self.width = config.context, config.vocabulary, config.width
        self._table_width = -(-config.context // block_size)
        self._device = self.model.embedding.device
        self._buckets, self._tokens = tuple(sorted(sizes.buckets)), tuple(sorted(sizes.prompts))
        self._scale, self._group = config.head_width**-0.5, config.heads // config.kv_heads
        shape = config.layers, blocks + 1, config.kv_heads, block_size, config.head_width
        dtype = self.model.embedding.dtype
        self._gathers = bool(why_not_here(self._device, dtype, config.head_width, self._group, block_size))
        # The last block belongs to nobody: idle rows of a bucket write there.
        self._cache = (
            torch.zeros(shape, dtype=dtype, device=self._device),
            torch.zeros(shape, dtype=dtype, device=self._device),
        )
        rows = max(self._buckets[-1], PASS.sequences)
        self._logits = torch.empty((rows, config.vocabulary), dtype=dtype, device=self._device)
        self._last = LastTokens(self._device)
        self._recorder = GraphRecorder(self._device)
        self._decoding: dict[int, tuple[GraphInputs, Step]] = {}
        self._prompts: dict[PassSize, tuple[PromptInputs, Step]] = {}
        self._one_launch = self._streamed() if one_launch else None
        self.steps_alone = sizes.steps if self._one_launch is None else max(sizes.steps, sizes.steps_alone)

    def _streamed(self) -> DecodeStep | None:
        """The whole model in one launch for one sequence, where the GPU and the model's sizes allow it."""
        config, model = self.model.config, self.model
        if self._device.type != "cuda" or model.embedding.dtype != torch.bfloat16 or not model.plain:
            return None
        cut = geometry(
            self._device, width=config.width, hidden=config.hidden, heads=config.heads, kv_heads=config.kv_heads,
            head_width=config.head_width,
        )  # fmt: skip
        if isinstance(cut, str):
            return None
        norms = torch.stack(
            [norm for layer in model.layers for norm in (layer.input_norm, layer.mlp_norm)] + [model.norm]
        )
        weights = DecodeWeights(
            layers=[(e.qkv, e.output, e.gate_up, e.down) for e in model.layers], norms=norms,
            embedding=model.embedding, head=model.head, cosine=model.cosine, sine=model.sine, eps=config.norm_eps,
        )  # fmt: skip
        return DecodeStep(cut, weights, block_size=self.block_size)

    def warm(self, running: int) -> None:
        """Record what up to `running` sequences need now, rather than when it is needed first."""
        with torch.inference_mode():
            for bucket in self._buckets[: bisect.bisect_left(self._buckets, running) + 1]:
                self._decoder(bucket)
            for tokens in self._tokens:
                self._reader(prompts.sized(tokens, keys=tokens if self._gathers else 0))

    def execute(self, batch: Batch) -> Sampled:
        """Tokens of the rows that are to be sampled."""
        return self.queue(batch).read()

    def queue(self, batch: Batch) -> QueuedParts:
        """The same, without waiting for the device: it takes batches in their order."""
        with torch.inference_mode():
            batch = self._last.located(batch)
            queued = tuple([self._queue(part, *self._for(part)) for part in self._parts(batch)])
            self._last.take_turn(batch)
        return QueuedParts(queued, batch.steps)

    def logits(self, batch: Batch) -> Tensor:
        """Logits [M, vocabulary] on the host of the rows to be sampled; the cache is written as in `execute`."""
        rows = torch.empty((len(batch.draws), self.vocabulary))
        with torch.inference_mode():
            for part in self._parts(batch):
                inputs, step = self._for(part)
                inputs.fill(part.batch)
                step()
                rows[part.draws] = inputs.logits.float().cpu()[inputs.drawn_from(part.batch)]
        return rows

    def _parts(self, batch: Batch) -> Iterator[batch_parts.BatchPart]:
        limits = PASS if self._gathers else replace(PASS, keys=batch_parts.ANY)
        return batch_parts.parts(batch, decoding=self._buckets[-1], prompts=limits)

    def _for(self, part: batch_parts.BatchPart) -> tuple[Inputs, Step]:
        if part.decoding:
            return self._decoder(self._buckets[bisect.bisect_left(self._buckets, len(part.batch.lengths))])
        needed = prompts.needed(part.batch, gathered=self._gathers)
        size = None if part.batch.reads else prompts.recorded(needed, self._tokens)
        if size is not None:
            return self._reader(size)
        inputs = self._passing(needed)
        return inputs, lambda: self._read(inputs)

    def _queue(self, part: batch_parts.BatchPart, inputs: Inputs, step: Step) -> Queued:
        batch, special = part.batch, tuple(i for i, draw in enumerate(part.batch.draws) if not draw.plain)
        assert batch.steps == 1 or not special, "the scheduler lets only plain draws run ahead"
        if isinstance(inputs, GraphInputs):
            inputs.fill(batch, self._last.tokens)
        else:
            inputs.fill(batch)
        read: tuple[Reading, ...] = ()
        if batch.reads:
            assert isinstance(inputs, PromptInputs), "what is read is a prompt"
            read = readings(batch, self._read(inputs), self.model.logits)
        elif isinstance(inputs, GraphInputs):
            greedy = not special and all(draw.sampling.greedy for draw in batch.draws)
            self._queue_steps(inputs, step, batch.steps, greedy=greedy)
        else:
            step()
        rows = inputs.drawn_from(batch)
        logits = inputs.logits[rows[list(special)].tolist()] if special else None
        drawn = inputs.drawn[: batch.steps]
        self._last.note(part, drawn[-1], rows)
        return Queued(part, HostCopy(drawn), rows, batch.draws, special, logits, read)

    # -- one token each --------------------------------------------------------------------------------------------
    def _decoder(self, bucket: int) -> tuple[GraphInputs, Step]:
        """Inputs and a recorded step for so many sequences."""
        if bucket not in self._decoding:
            static = GraphInputs(
                bucket, steps=self.steps_alone if bucket == 1 else self.steps, spare=self.blocks,
                width=self._table_width, block_size=self.block_size,
                logits=self._one_launch.logits if bucket == 1 and self._one_launch is not None
                else self._logits[:bucket],
            )  # fmt: skip
            self._decoding[bucket] = static, self._recorder.record(lambda: self._step(static))
        return self._decoding[bucket]

    def _queue_steps(self, static: GraphInputs, step: Step, steps: int, *, greedy: bool) -> None:
        """Queue the steps of a bucket whose inputs are in place."""
        if static.rows == 1 and greedy and self._one_launch is not None:
            self._stream(static, steps)
            return
        for _ in range(steps):
            step()

    def _stream(self, static: GraphInputs, steps: int) -> None:
        assert self._one_launch is not None
        field = static.field
        self._one_launch(field["tokens"], field["positions"], static.tables, self._cache, static.drawn, steps=steps)

    def _step(self, static: GraphInputs) -> None:
        """One token for every row, and the inputs of the next."""
        f = static.field
        if static.rows == 1 and self._one_launch is not None:
            self._stream(static, 0)
        else:
            hidden = self.model.hidden(
                f["tokens"], f["positions"], f["slots"], self._cache,
                lambda q, k, v: paged_attention(
                    q, k, v, static.tables, f["lengths"], scale=self._scale, fixed_past=True
                ),
            )  # fmt: skip
            self.model.logits(hidden, out=static.logits)
        uniform = static.uniform.index_select(0, static.step)[0]
        static.advance(draw_tokens(static.logits, f["temperature"], f["top_k"], f["top_p"], f["min_p"], uniform))

    # -- prompts ---------------------------------------------------------------------------------------------------
    def _passing(self, size: PassSize) -> PromptInputs:
        return PromptInputs(
            size, self._keys_of(size), spare=self.blocks, block_size=self.block_size,
            logits=self._logits[: size.sequences], device=self._device,
        )  # fmt: skip

    def _keys_of(self, size: PassSize) -> PromptKeys:
        if self._gathers:
            return GatheredKeys(
                tokens=size.tokens, sequences=size.sequences, keys=size.keys, heads=self.model.config.kv_heads,
                block_size=self.block_size, scale=self._scale,
            )  # fmt: skip
        return PagedKeys(
            tokens=size.tokens, sequences=size.sequences, group=self._group, width=self._table_width, scale=self._scale
        )

    def _reader(self, size: PassSize) -> tuple[PromptInputs, Step]:
        """Inputs and a recorded pass of a size."""
        if size not in self._prompts:
            inputs = self._passing(size)
            self._prompts[size] = inputs, self._recorder.record(lambda: self._read(inputs))
        return self._prompts[size]

    def _read(self, inputs: PromptInputs) -> Tensor:
        """Keys and values of all tokens into the cache, and a token for every sequence; gives the hidden states."""
        f = inputs.field
        hidden = self.model.hidden(f["tokens"], f["positions"], f["slots"], self._cache, inputs.look())
        self.model.logits(hidden.index_select(0, f["last"]), out=inputs.logits)
        drawn = draw_tokens(inputs.logits, f["temperature"], f["top_k"], f["top_p"], f["min_p"], f["uniform"])
        inputs.drawn[0].copy_(drawn)
        return hidden
