"""The one-launch decoder: how its weights are packed, and that its blocks together do what a float64 decoder does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import Tensor

import gridstride as gs
from gridstride.judge.header import read_kernel
from gridstride.kernels.decode_step import op, packing
from gridstride.kernels.decode_step.packing import Geometry, stream
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder, LayerAttention

SMALL = Geometry(blocks=8, warps=4, width=256, hidden=256, heads=4, kv_heads=2, head_width=64)
SIXTEEN_ROWS, TILE = 16, 16 * 32


def layer(g: Geometry, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (g.qkv, g.width), (g.width, g.seen), (2 * g.hidden, g.width), (g.width, g.hidden)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


@pytest.mark.parametrize("by_warp", [False, True])
def test_every_weight_is_in_the_stream_once(by_warp: bool) -> None:
    weights, head = layer(SMALL, 0), torch.randn(SMALL.blocks * SMALL.head_tiles(1024) * 16, 256)
    packed = stream(SMALL, [weights], head, by_warp=by_warp)
    everything = torch.cat([w.flatten() for w in (*weights, head)])
    assert torch.equal(packed.flatten().sort().values, everything.sort().values)


def test_a_blocks_first_tiles_are_its_own_rows_of_queries_keys_and_values() -> None:
    weights = layer(SMALL, 1)
    packed = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)
    rows = SMALL.qkv // SMALL.blocks
    for block in range(SMALL.blocks):
        tiles = packed[block, : rows * 256].view(rows // 16, SMALL.chunks, 16, 32)
        assert torch.equal(tiles.transpose(1, 2).reshape(rows, 256), weights[0][block * rows : (block + 1) * rows])


def test_the_lower_rows_of_an_output_tile_are_the_same_rows_half_the_columns_on() -> None:
    weights = layer(SMALL, 2)
    start = SMALL.qkv * 256 // SMALL.blocks
    tile = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)[3, start : start + TILE].view(16, 32)
    first = 3 * SMALL.width // SMALL.blocks
    assert torch.equal(tile[:8], weights[1][first : first + 8, :32])
    assert torch.equal(tile[8:], weights[1][first : first + 8, SMALL.seen // 2 : SMALL.seen // 2 + 32])


def test_a_tile_of_the_gated_layer_has_gates_above_what_they_let_through() -> None:
    weights = layer(SMALL, 3)
    start = (SMALL.qkv + SMALL.seen) * 256 // SMALL.blocks
    tile = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)[5, start : start + TILE].view(16, 32)
    first = 5 * SMALL.hidden // SMALL.blocks
    assert torch.equal(tile[:8], weights[2][first : first + 8, :32])
    assert torch.equal(tile[8:], weights[2][SMALL.hidden + first : SMALL.hidden + first + 8, :32])


def test_the_output_projection_is_filled_up_with_zeros() -> None:
    head = torch.ones(300, 256)
    packed = stream(SMALL, [], head, by_warp=False)
    assert packed.sum() == 300 * 256
    assert packed.shape == (8, SMALL.head_tiles(300) * SIXTEEN_ROWS * 256)


def test_a_warps_columns_of_all_row_tiles_lie_together() -> None:
    weights = layer(SMALL, 4)
    packed = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=True)
    rows, slice_ = SMALL.qkv // SMALL.blocks, SMALL.width // SMALL.warps
    for block, warp in ((0, 0), (3, 1), (7, 3)):
        share = packed[block, warp * rows * slice_ : (warp + 1) * rows * slice_]
        tiles = share.view(rows // 16, slice_ // 32, 16, 32).transpose(1, 2).reshape(rows, slice_)
        expected = weights[0][block * rows : (block + 1) * rows, warp * slice_ : (warp + 1) * slice_]
        assert torch.equal(tiles, expected)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 250}, "width in rows"),
        ({"hidden": 300}, "hidden"),
        ({"blocks": 6}, "blocks over heads"),
        ({"hidden": 16384, "blocks": 4}, "the ring"),
        ({"hidden": 65536}, "shared memory"),
        (
            {"width": 2560, "blocks": 20, "heads": 20, "kv_heads": 20, "hidden": 2560},
            "a group of the head has 5 stages",
        ),
    ],
)
def test_sizes_that_do_not_divide_are_named(change: dict[str, int], said: str) -> None:
    sizes = {name: getattr(SMALL, name) for name in Geometry.__slots__}
    assert said in Geometry(**{**sizes, **change}).misfit()


def test_the_shape_of_the_benchmark_fits_128_blocks() -> None:
    shape = {"width": 1024, "hidden": 3072, "heads": 16, "kv_heads": 8, "head_width": 128}
    assert not Geometry(blocks=128, warps=8, **shape).misfit()


# -- the kernel -------------------------------------------------------------------------------------------------------
RUNGS = Path(op.__file__).parent / "rungs"
PROMPT, STEPS, PAGE, PAGES = 37, 3, 16, 8
CONFIG = DecoderConfig(
    vocabulary=300, width=256, layers=2, heads=4, kv_heads=2, head_width=64, hidden=256, context=128, tied=True
)


class Float64:
    """The same decoder in float64, with a cache of its own: what the kernel is held to."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        made = Decoder(CONFIG).eval()
        with torch.no_grad():
            for p in made.parameters():
                scale = p.shape[-1] ** -0.5 if p.dim() == 2 else 0.1
                p.copy_((torch.randn_like(p) * scale + (p.dim() == 1)).bfloat16())
        self.weights = {name: w.bfloat16() for name, w in made.state_dict().items()}
        self.cosine, self.sine = made.cos.float().numpy(), made.sin.float().numpy()
        self._decoder = made.double()
        self.cache: list[tuple[Tensor, Tensor]] = []

    @torch.no_grad()
    def logits(self, tokens: list[int], start: int) -> Tensor:
        """Of the last token, all of them added to the cache."""
        positions = torch.arange(start, start + len(tokens))
        return self._decoder.logits(self._decoder(torch.tensor(tokens), positions, attend=self._attend))[-1]

    def _attend(self, which: LayerAttention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        layer = which.layer
        if layer < len(self.cache):
            k, v = torch.cat([self.cache[layer][0], k]), torch.cat([self.cache[layer][1], v])
            self.cache[layer] = k, v
        else:
            self.cache.append((k.bfloat16().double(), v.bfloat16().double()))  # as the kernel finds them
        keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        seen = torch.ones(len(q), len(k)).tril(len(k) - len(q)).bool()
        scores = torch.einsum("nhd,lhd->hnl", q, keys) * q.shape[-1] ** -0.5
        return torch.einsum("hnl,lhd->nhd", scores.masked_fill(~seen, -torch.inf).softmax(-1), values)


def bf16(x: Tensor) -> np.ndarray:
    return x.bfloat16().contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def test_eight_blocks_that_talk_decode_as_one_decoder_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two launches of three greedy tokens each, then the logits of the next; a ring shorter than a layer, sanitized."""
    monkeypatch.setattr(packing, "STAGES", 4)
    model = Float64()
    rung = replace(op.SPECIALISED, copies=2, line=64)  # lines that what a block sends does not fill
    prompt = np.random.default_rng(1).integers(0, 300, PROMPT + 1).tolist()
    model.logits(prompt[:-1], 0)
    table = np.random.default_rng(2).permutation(PAGES).astype(np.int32)
    cache = np.zeros((2, 2, PAGES, 2, PAGE, 64), ml_dtypes.bfloat16)
    for layer, pair in enumerate(model.cache):
        for which, rows in enumerate(pair):
            for position, row in enumerate(rows):
                cache[which, layer, table[position // PAGE], :, position % PAGE] = bf16(row)

    w = model.weights
    names = [f"layers.{i}." for i in range(2)]
    layers = [
        (torch.cat([w[f"{at}self_attn.{x}_proj.weight"] for x in "qkv"]), w[f"{at}self_attn.o_proj.weight"],
         torch.cat([w[f"{at}mlp.{x}_proj.weight"] for x in ("gate", "up")]), w[f"{at}mlp.down_proj.weight"])
        for at in names
    ]  # fmt: skip
    norms = [w[at + which] for at in names for which in ("input_layernorm.weight", "post_attention_layernorm.weight")]
    packed = bf16(stream(SMALL, layers, w["embed_tokens.weight"], by_warp=rung.by_warp)).view(np.uint8)
    file = read_kernel(RUNGS / f"{rung.name}.cu")
    macros = {
        "BLOCKS": 8, "WARPS": 4, "WIDTH": 256, "HIDDEN": 256, "HEADS": 4, "KV_HEADS": 2, "HEAD_WIDTH": 64,
        "BLOCK_SIZE": PAGE, "STAGES": packing.STAGES, "HEAD_GROUP": SMALL.head_group, "COPIES": rung.copies,
        "LINE": rung.line,
    }  # fmt: skip
    with gs.use(gs.VirtualGPU(sanitize=True)):
        kernel = gs.cuda(file.source, [f"-D{name}={value}" for name, value in macros.items()], filename=file.filename)
        token, position, drawn = (gs.to_device(np.array(x, np.int64)) for x in ([prompt[-1]], [PROMPT], [0] * STEPS))
        logits = gs.to_device(np.full(300, np.nan, np.float32))
        fixed = [
            *(gs.to_device(x) for x in (packed, bf16(torch.stack([*norms, w["norm.weight"]])))),
            *(gs.to_device(x) for x in (bf16(w["embed_tokens.weight"]), model.cosine, model.sine, *cache, table)),
        ]
        state = [gs.to_device(np.zeros(n, np.uint32)) for n in (rung.messages(SMALL), 2)]
        at, next_token = PROMPT, prompt[-1]
        for steps, greedy in ((STEPS, 1), (STEPS, 1), (1, 0)):
            numbers = (2, 300, SMALL.head_tiles(300), cache[0, 0].size, steps, greedy, CONFIG.norm_eps, 64**-0.5)
            kernel[file.entry].launch(
                grid=8, block=32 * (4 + rung.extra_warps), shared=packing.SHARED, cooperative=True,
                args=(*fixed, token, position, *state, logits, drawn, *numbers),
            )  # fmt: skip
            for said in drawn.numpy().tolist() if greedy else ():
                expected = model.logits([next_token], at)
                assert expected.max() - expected[said] < 0.02
                at, next_token = at + 1, said
            assert (token.numpy()[0], position.numpy()[0]) == (next_token, at)
        np.testing.assert_allclose(logits.numpy(), model.logits([next_token], at).numpy(), atol=0.02)
