"""A decoder with its paged cache, on any device that PyTorch knows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gridstride.models.decoder import Decoder
from gridstride.models.huggingface.adapter import Adapter
from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled
from gridstride.serve.runner.torch.adapted import Adapted
from gridstride.serve.runner.torch.attention import GatherBuffers, PagedAttention
from gridstride.serve.runner.torch.reading import readings
from gridstride.serve.runner.torch.sampler import sample
from gridstride.serve.runner.torch.threads import Threads

if TYPE_CHECKING:
    from gridstride.serve.runner.cpu.native_decoder import NativeDecoder

_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Not cuDNN's, which makes a plan for every new length: here every step has one."""


class TorchRunner:
    """Keys and values lie in one tensor [2, layers, blocks, block_size, K, D]; attention gathers from it."""

    steps = steps_alone = 1
    verifies = True

    def __init__(
        self, decoder: Decoder, *, blocks: int, block_size: int, threads: Threads | None = None,
        adapters: Sequence[Adapter] = (), code: RunnerCode | None = None,
    ) -> None:  # fmt: skip
        """`threads`: who says how many a step gets; None: as many as PyTorch has. `adapters`: from 1 on those that
        sequences of a batch may have. `code`: of "llvm" batches of a few tokens that get one thread run as machine code
        of their own; None for PyTorch's operators.
        """
        self.decoder = decoder
        self.decoder.always_long = True
        self.adapters, self._adapted = len(adapters), Adapted(self.decoder, adapters) if adapters else None
        self.blocks, self.block_size = blocks, block_size
        self.context, self.vocabulary = decoder.config.context, decoder.config.vocabulary
        weight = decoder.embed_tokens.weight
        self.width = decoder.config.width
        self._device = weight.device
        config = decoder.config
        kv_heads = decoder.layers[0].self_attn.k_proj.weight.shape[0] // config.head_width  # those of this rank
        shape = 2, config.layers, blocks + 1, block_size, kv_heads, config.head_width
        self._cache = torch.empty(shape, dtype=weight.dtype, device=self._device)  # pages come as they are written
        self._cache[:, :, -1] = 0  # stands where a block table has nothing
        self._scratch = GatherBuffers()
        self._threads = threads
        self.code = code or RunnerCode("pytorch", "")
        self._native = _native(decoder, self._cache) if self.code.name == "llvm" else None

    def execute(self, batch: Batch) -> Sampled:
        thread_scope = nullcontext() if self._threads is None else self._threads.step(len(batch.tokens))
        with thread_scope, torch.inference_mode():
            native = self._native if self._native is not None and self._native.takes(batch) else None
            self.code.native_steps += native is not None
            of = self.decoder if native is None else native
            hidden = self.hidden(batch) if native is None else native.hidden(batch)
            decodes = len(batch.sampled) == len(batch.tokens)  # and every row is sampled, in order
            rows = hidden if decodes else hidden[self._on_device(batch.sampled)]
            sampled = sample(of.logits(rows), batch.draws)
            return replace(sampled, readings=readings(batch, hidden, of.logits)) if batch.reads else sampled

    def hidden(self, batch: Batch) -> Tensor:
        """Hidden states [N, width] of the batch's tokens, whose keys and values are in the cache then."""
        with torch.inference_mode(), sdpa_kernel(_ATTENTION):
            attend = PagedAttention(self._cache, batch, self._scratch)
            if self._adapted is not None:
                self._adapted.take(batch)
            return self.decoder(self._on_device(batch.tokens), self._on_device(batch.positions), attend)

    def _on_device(self, array: object) -> Tensor:
        return torch.as_tensor(array, device=self._device)


def _native(decoder: Decoder, cache: Tensor) -> NativeDecoder:
    from gridstride.serve.runner.cpu.native_decoder import NativeDecoder  # LLVM, of no use on a GPU

    return NativeDecoder(decoder, cache)
