"""The runner for GPUs: decoding from CUDA graphs, several steps a call; prompts in chunks through PyTorch's attention.

Two ways through the model share the cache and the weights. Sequences with one new token that are drawn from by plain
means (no penalties, no schema, no log-probabilities) are replayed from a graph of the next larger bucket, `batch.steps`
times, with one exchange with the host. What else a batch has runs op by op.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

from gridstride.kernels.decode_step.op import DecodeStep, geometry
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.sample.op import sample as draw_tokens
from gridstride.models.decoder import Decoder
from gridstride.serve import split
from gridstride.serve.batch import Batch, Sampled
from gridstride.serve.fused import FusedDecoder
from gridstride.serve.sampler import sample
from gridstride.serve.static import Static

BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256)
"""Sequences of a captured step; a batch is filled up to the next one."""
STEPS = 8
_PROMPTS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Not cuDNN's, which makes a plan for every new length: prompts have all lengths."""


class CudaRunner:
    """A decoder with its cache [layers, blocks, K, block_size, D] for keys and one for values.

    On a CPU it runs the same code without graphs. ValueError for a decoder that the kernels are not for. With
    `one_launch` a single bf16 sequence is decoded by one launch for all steps where the model's sizes allow it, at the
    price of a second copy of the weights.
    """

    def __init__(
        self, decoder: Decoder, *, blocks: int, block_size: int, device: torch.device | str | None = None,
        steps: int = STEPS, buckets: Sequence[int] = BUCKETS, one_launch: bool = True,
    ) -> None:  # fmt: skip
        decoder = decoder if device is None else decoder.to(device)
        config = decoder.config
        self.model = FusedDecoder(decoder)
        self.blocks, self.block_size, self.steps = blocks, block_size, steps
        self.context, self.vocabulary = config.context, config.vocabulary
        self._device, self._buckets = self.model.embedding.device, tuple(sorted(buckets))
        self._scale = config.head_width**-0.5
        shape = config.layers, blocks + 1, config.kv_heads, block_size, config.head_width
        dtype = self.model.embedding.dtype
        # The last block belongs to nobody: idle rows of a bucket write there.
        self._cache = (
            torch.zeros(shape, dtype=dtype, device=self._device),
            torch.zeros(shape, dtype=dtype, device=self._device),
        )
        self._static: dict[int, Static] = {}
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._pool: Any = None
        self._one = self._streamed() if one_launch else None

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
        return DecodeStep(
            cut, layers=[(e.qkv, e.output, e.gate_up, e.down) for e in model.layers], norms=norms,
            embedding=model.embedding, head=model.head, cosine=model.cosine, sine=model.sine,
            block_size=self.block_size, eps=config.norm_eps,
        )  # fmt: skip

    def execute(self, batch: Batch) -> Sampled:
        """Tokens of the rows that are to be sampled."""
        with torch.inference_mode():
            decoding = split.decodable(batch)
            if not decoding.any() or np.count_nonzero(decoding) > self._buckets[-1]:
                return self._op_by_op(batch)
            if decoding.all():
                return self._decode(batch)
            decode, other = split.part(batch, decoding), split.part(batch, ~decoding)
            return split.joined([(self._decode(decode[0]), decode[1]), (self._op_by_op(other[0]), other[1])])

    def _op_by_op(self, batch: Batch) -> Sampled:
        hidden = self._any(batch)
        return sample(self.model.logits(hidden[self._on_device(batch.sampled)]), batch.draws)

    def logits(self, batch: Batch) -> Tensor:
        """Logits [M, vocabulary] of the rows that are to be sampled, op by op; the cache is written as in `execute`."""
        with torch.inference_mode():
            return self.model.logits(self._any(batch)[self._on_device(batch.sampled)])

    # -- one token each, from a graph ------------------------------------------------------------------------------
    def _decode(self, batch: Batch) -> Sampled:
        count = len(batch.tokens)
        bucket = self._buckets[bisect.bisect_left(self._buckets, count)]
        static = self._ready(bucket)
        static.fill(batch)
        self._run(bucket, batch.steps, greedy=all(draw.sampling.greedy for draw in batch.draws))
        tokens = static.drawn[: batch.steps, :count].T.cpu().numpy()
        return Sampled(np.ascontiguousarray(tokens), (None,) * count)

    def _ready(self, bucket: int) -> Static:
        static = self._static.get(bucket)
        if static is None:
            width = -(-self.context // self.block_size)
            static = self._static[bucket] = Static(
                bucket,
                steps=self.steps,
                width=width,
                spare=self.blocks,
                block_size=self.block_size,
                device=self._device,
            )
        return static

    def _run(self, bucket: int, steps: int, *, greedy: bool) -> None:
        """Queue the steps of a bucket whose inputs are in place."""
        if bucket == 1 and greedy and self._one is not None:
            self._stream(steps, greedy=True)
            return
        for _ in range(steps):
            self._replay(bucket)

    def _stream(self, steps: int, *, greedy: bool) -> None:
        static = self._static[1]
        assert self._one is not None
        field = static.field
        self._one(
            field["tokens"], field["positions"], static.tables, self._cache, static.drawn, steps=steps, greedy=greedy
        )

    def _replay(self, bucket: int) -> None:
        if self._device.type != "cuda":
            self._step(self._static[bucket])
            return
        if bucket not in self._graphs:
            self._graphs[bucket] = self._captured(self._static[bucket])
        self._graphs[bucket].replay()

    def _step(self, static: Static) -> None:
        """One token for every row, and the inputs of the next."""
        f = static.field
        if static.rows == 1 and self._one is not None:
            self._stream(1, greedy=False)
            logits = self._one.logits
        else:
            hidden = self.model.hidden(
                f["tokens"], f["positions"], f["slots"], self._cache,
                lambda q, k, v: paged_attention(q, k, v, static.tables, f["lengths"], scale=self._scale),
            )  # fmt: skip
            logits = self.model.logits(hidden)
        uniform = static.uniform.index_select(0, static.step)[0]
        static.advance(draw_tokens(logits, f["temperature"], f["top_k"], f["top_p"], f["min_p"], uniform))

    def _captured(self, static: Static) -> torch.cuda.CUDAGraph:
        """The step as a graph. It runs once before, on idle rows, so that every kernel is compiled and loaded."""
        kept = {name: view.clone() for name, view in static.field.items()}
        tables, step = static.tables.clone(), static.step.clone()
        static.tables.fill_(self.blocks)
        static.field["slots"].fill_(self.blocks * self.block_size)
        static.field["lengths"].zero_()
        side = torch.cuda.Stream(self._device)
        side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(side):
            self._step(static)
            static.step.zero_()
        torch.cuda.current_stream(self._device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            self._step(static)
        self._pool = graph.pool()
        for name, view in static.field.items():
            view.copy_(kept[name])
        static.tables.copy_(tables)
        static.step.copy_(step)
        return graph

    # -- anything, op by op ----------------------------------------------------------------------------------------
    def _any(self, batch: Batch) -> Tensor:
        tokens, positions, slots = map(self._on_device, (batch.tokens, batch.positions, batch.slots))
        with sdpa_kernel(_PROMPTS):
            return self.model.hidden(tokens, positions, slots, self._cache, self._look(batch))

    def _look(self, batch: Batch) -> Any:
        """Attention of a ragged batch: sequences with one token together, each longer chunk by itself."""
        counts = np.diff(batch.starts)
        single = np.flatnonzero(counts == 1)
        rows = self._on_device(batch.starts[:-1][single].astype(np.int64))
        tables, lengths = self._on_device(batch.blocks[single]), self._on_device(batch.lengths[single])
        chunks = [self._chunk(batch, s) for s in np.flatnonzero(counts > 1).tolist()]

        def look(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            out = torch.empty_like(q)
            if len(single):
                out[rows] = paged_attention(q[rows], keys, values, tables, lengths, scale=self._scale)
            for place, table, length in chunks:
                out[place] = _chunk_attention(q[place], keys[table], values[table], length)
            return out

        return look

    def _chunk(self, batch: Batch, s: int) -> tuple[slice, Tensor, int]:
        """Rows, blocks and length of a sequence with several new tokens."""
        length = int(batch.lengths[s])
        table = self._on_device(batch.blocks[s, : -(-length // self.block_size)].astype(np.int64))
        return slice(int(batch.starts[s]), int(batch.starts[s + 1])), table, length

    def _on_device(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self._device)


def _chunk_attention(q: Tensor, keys: Tensor, values: Tensor, length: int) -> Tensor:
    """The last T of `length` tokens: q [T, H, D], keys and values [W, K, block_size, D] -> [T, H, D]."""
    k, v = (t.transpose(0, 1).flatten(1, 2)[None, :, :length] for t in (keys, values))
    q = q.transpose(0, 1)[None]
    same, grouped = q.shape[2] == length, q.shape[1] != k.shape[1]
    if same:
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
    else:
        if grouped:  # the bias knows nothing of grouped heads
            k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], length))
    return out[0].transpose(0, 1)
