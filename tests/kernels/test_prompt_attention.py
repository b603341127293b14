"""Attention of prompts over the paged cache: what the rungs compute for other shapes than the judged one, and the op."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.prompt_attention.op import piece_queries, prompt_attention, why_not, why_not_here

SEQUENCES = [(5, 0), (70, 0), (1, 200), (40, 129)]
"""New tokens, and those before them."""


def pieces_of(sequences: list[tuple[int, int]], most: int, *, unused: int = 2) -> Tensor:
    """Of sequences whose new tokens lie one behind the other; unused ones point nowhere."""
    made, first = [], 0
    for table, (new, past) in enumerate(sequences):
        for start in range(0, new, most):
            count = min(most, new - start)
            made.append([first + start, count, table, past + start + count])
        first += new
    made.sort(key=lambda piece: -piece[3])
    return torch.tensor(made + [[1 << 30, 0, 1 << 30, 1 << 30]] * unused, dtype=torch.int32)


def given(
    dtype: torch.dtype,
    *,
    kv: int,
    group: int,
    width: int,
    block_size: int,
    sequences: list[tuple[int, int]] = SEQUENCES,
) -> list[Tensor]:
    """q, keys, values, tables, pieces. What belongs to no sequence is NaN, and its blocks -1."""
    draw = torch.Generator().manual_seed(3)
    lengths = [new + past for new, past in sequences]
    most, blocks = -(-max(lengths) // block_size) + 1, sum(-(-length // block_size) for length in lengths)
    order = torch.randperm(blocks + 3, generator=draw).int().tolist()
    caches, tables = torch.full((2, blocks + 3, kv, block_size, width), torch.nan), []
    for length in lengths:
        table = [order.pop() for _ in range(-(-length // block_size))]
        for token in range(length):
            row = torch.randn(2, kv, width, generator=draw)
            caches[:, table[token // block_size], :, token % block_size] = row
        tables.append(table + [-1] * (most - len(table)))
    q = torch.randn(sum(new for new, _ in sequences), kv * group, width, generator=draw)
    pieces = pieces_of(sequences, piece_queries(group))
    return [q.to(dtype), *caches.to(dtype), torch.tensor(tables, dtype=torch.int32), pieces]


def alone(sequences: list[tuple[int, int]], inputs: list[Tensor], scale: float) -> Tensor:
    """Each sequence by itself in float64."""
    q, keys, values, tables, _ = inputs
    out, first = [], 0
    for (new, past), table in zip(sequences, tables, strict=True):
        length, size = new + past, keys.shape[2]
        k, v = (
            cache[table[: -(-length // size)].long()].transpose(1, 2).flatten(0, 1)[:length].double().transpose(0, 1)
            for cache in (keys, values)
        )
        mask = torch.ones(new, length, dtype=torch.bool).tril(past)
        rows = q[first : first + new].double().transpose(0, 1)
        attended = F.scaled_dot_product_attention(
            rows[None], k[None], v[None], attn_mask=mask, scale=scale, enable_gqa=True
        )
        out.append(attended[0].transpose(0, 1))
        first += new
    return torch.cat(out)


SHAPES = {
    "as served": (torch.bfloat16, {"kv": 2, "group": 2, "width": 128, "block_size": 16}),
    "three heads, narrow ones": (torch.float16, {"kv": 1, "group": 3, "width": 64, "block_size": 24}),
}
"""Compiling one takes the virtual GPU some seconds: as few as show every branch."""


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("rung", ["02_mma", "03_ping_pong"])
def test_any_shape_and_any_grid(rung: str, name: str) -> None:
    dtype, sizes = SHAPES[name]
    inputs = given(dtype, **sizes)
    q, keys, values, tables, pieces = inputs
    (file,) = (file for file in find("prompt_attention").rungs() if file.name == rung)
    macros = {"HEAD_WIDTH": keys.shape[3], "GROUP": q.shape[1] // keys.shape[1], "BLOCK_SIZE": keys.shape[2]}
    if dtype == torch.bfloat16:
        macros["BFLOAT16"] = 1
    items = len(pieces) * keys.shape[1]
    assert file.launch is not None
    with gs.use(gs.VirtualGPU("h200", sanitize=True, workers=1)):
        module = gs.cuda(file.source, [f"-D{macro}={value}" for macro, value in macros.items()], filename=file.filename)
        for blocks in [items] if rung == "02_mma" else [1, 5, items]:
            out = torch.full_like(q, torch.nan)
            shape = file.launch.shape({"P": len(pieces), "K": keys.shape[1], "SMS": blocks})
            module[file.entry][blocks, shape.block, shape.shared * keys.shape[3] // 128](
                q, keys, values, tables, pieces, out, keys.shape[1], len(pieces), tables.shape[1], 0.2
            )
            torch.testing.assert_close(out.double(), alone(SEQUENCES, inputs, 0.2), rtol=0, atol=8e-3)
