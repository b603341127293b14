"""All layers of a decoder in one cooperative launch: decoding of one sequence at the speed of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gridstride.device.physical.physical_gpu import PhysicalGPU
from gridstride.kernels.decode_step.packing import SHARED, STAGES, Geometry, stream
from gridstride.kernels.torch_op import launcher

_WARPS = (8, 16)


@dataclass(frozen=True, slots=True)
class DecodeRung:
    """What the host must know of a rung: warps that do not multiply, a message's type, how its weights lie, how often
    what all blocks wait for is sent, and the messages of a line, of which what a block sends fills whole ones."""

    name: str
    extra_warps: int
    message: torch.dtype
    by_warp: bool
    copies: int = 1
    line: int = 1

    def messages(self, cut: Geometry) -> int:
        """Of all blocks together."""
        part, own, units = cut.seen // cut.blocks, cut.width // cut.blocks, cut.hidden // cut.blocks
        partial = cut.splits * self._lined(part + 4)
        everybodys = self._lined(part) + 2 * self._lined(own) + self._lined(units)
        return cut.qkv + cut.blocks * (partial + self.copies * everybodys + 4)

    def _lined(self, messages: int) -> int:
        return -(-messages // self.line) * self.line


STREAMED = DecodeRung("01_streamed", 0, torch.int64, by_warp=False)
SPECIALISED = DecodeRung("02_specialised", 2, torch.int32, by_warp=True, copies=4, line=32)


def geometry(
    device: torch.device, *, width: int, hidden: int, heads: int, kv_heads: int, head_width: int
) -> Geometry | str:
    """The largest cut that fits the GPU, or why there is none. Compute capability 9.0 is needed for its bulk copies."""
    properties = PhysicalGPU(torch.cuda.current_device() if device.index is None else device.index).properties
    if properties.compute_capability < (9, 0) or properties.shared_per_block_optin < SHARED:
        return f"{properties.name} has no bulk copies or less than {SHARED} bytes of shared memory for a block"
    reason = ""
    for warps in _WARPS:
        for blocks in range(properties.multiprocessors // heads * heads, 0, -heads):
            cut = Geometry(
                blocks=blocks, warps=warps, width=width, hidden=hidden, heads=heads, kv_heads=kv_heads,
                head_width=head_width,
            )  # fmt: skip
            misfit = cut.misfit()
            if not misfit:
                return cut
            reason = reason or misfit
    return reason


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeWeights:
    """A decoder's: (qkv, output, gate and up, down) of each layer, norms [2 * layers + 1, width], rotary tables."""

    layers: Sequence[tuple[Tensor, Tensor, Tensor, Tensor]]
    norms: Tensor
    embedding: Tensor
    head: Tensor
    cosine: Tensor
    sine: Tensor
    eps: float  # of the norms


class DecodeStep:
    """Weights packed for the kernel, a second copy of them, and the mail through which its blocks talk."""

    def __init__(
        self, cut: Geometry, weights: DecodeWeights, *, block_size: int, rung: DecodeRung = SPECIALISED, **macros: int
    ) -> None:
        self._cut, self._rung = cut, rung
        self._stream = stream(cut, weights.layers, weights.head, by_warp=rung.by_warp)
        self._layers = len(weights.layers)
        self._weights = replace(weights, layers=(), norms=weights.norms.contiguous())  # the stream has the layers
        self.vocabulary, device = len(weights.head), weights.head.device
        times = 64 * cut.blocks if "TIMES" in macros else 0
        self._mail = torch.zeros(rung.messages(cut) + times, dtype=rung.message, device=device)
        self._turns = torch.zeros(2, dtype=torch.int32, device=device)
        self.logits = torch.empty((1, self.vocabulary), dtype=torch.float32, device=device)
        self._run = launcher(
            "decode_step", rung.name, device,
            **{
                "BLOCKS": cut.blocks, "WARPS": cut.warps, "WIDTH": cut.width, "HIDDEN": cut.hidden, "HEADS": cut.heads,
                "KV_HEADS": cut.kv_heads, "HEAD_WIDTH": cut.head_width, "BLOCK_SIZE": block_size, "STAGES": STAGES,
                "HEAD_GROUP": cut.head_group, "COPIES": rung.copies, "LINE": rung.line,
                **macros,
            },
        )  # fmt: skip

    @property
    def marks(self) -> Tensor:
        """Clocks [blocks, 2, 16] that a rung compiled with TIMES has left behind its mail."""
        return self._mail[-64 * self._cut.blocks :].view(torch.int64).view(self._cut.blocks, 2, 16)

    def __call__(
        self, tokens: Tensor, positions: Tensor, table: Tensor, cache: tuple[Tensor, Tensor], drawn: Tensor, *,
        steps: int,
    ) -> None:  # fmt: skip
        """Decode `steps` tokens greedily into `drawn` int64 [steps]; tokens, positions int64 [1] become the next.

        0: one step, up to `self.logits` [1, vocabulary] fp32, and nothing else is written but the cache: keys and
        values [layers, blocks, K, block_size, D], at the slot of the position in `table` int32 [W].
        """
        cut, weights, keys = self._cut, self._weights, cache[0]
        self._run.cooperative(
            (cut.blocks, 1, 1), 32 * (cut.warps + self._rung.extra_warps), self._stream, weights.norms,
            weights.embedding, weights.cosine, weights.sine,
            keys, cache[1], table, tokens, positions, self._mail, self._turns, self.logits, drawn, self._layers,
            self.vocabulary, cut.head_tiles(self.vocabulary), keys.stride(0), steps or 1, int(steps > 0),
            weights.eps, cut.head_width**-0.5, shared=SHARED,
        )  # fmt: skip
