"""Attention of prompts over the paged cache: the rungs for other shapes than the judged one, and the op."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.prompt_attention.op import piece_queries, prompt_attention, why_not, why_not_here

SEQUENCES = [(5, 0), (70, 0), (1, 150), (9, 129)]
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


# -- the rungs ---------------------------------------------------------------------------------------------------------
SHAPES = {
    "as served": (torch.bfloat16, {"kv": 2, "group": 2, "width": 128, "block_size": 16}),
    "three heads, narrow ones, blocks across tiles": (
        torch.float16,
        {"kv": 1, "group": 3, "width": 64, "block_size": 24},
    ),
}
"""Compiling one takes the virtual GPU some seconds: as few as show every branch."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("rung", ["02_mma", "03_ping_pong"])
def test_any_shape_and_any_grid(rung: str, name: str) -> None:
    dtype, sizes = SHAPES[name]
    inputs = given(dtype, **sizes)
    q, keys, values, tables, pieces = inputs
    (file,) = (file for file in find("prompt_attention").rungs() if file.name == rung)
    kv, size, width = keys.shape[1:]
    macros = {"HEAD_WIDTH": width, "GROUP": sizes["group"], "BLOCK_SIZE": size}
    if dtype == torch.bfloat16:
        macros["BFLOAT16"] = 1
    assert file.launch is not None
    with gs.use(gs.VirtualGPU("h200", workers=1)):
        module = gs.cuda(file.source, [f"-D{macro}={value}" for macro, value in macros.items()], filename=file.filename)
        for multiprocessors in (1, 5, 132):  # the last one: more than there are items
            out = torch.full_like(q, torch.nan)
            shape = file.launch.shape({"P": len(pieces), "K": kv, "SMS": multiprocessors})
            module[file.entry][shape.grid, shape.block, shape.shared * width // 128](
                q, keys, values, tables, pieces, out, kv, len(pieces), tables.shape[1], 0.2
            )
            rounding = torch.finfo(dtype).eps
            torch.testing.assert_close(out.double(), alone(SEQUENCES, inputs, 0.2), rtol=rounding, atol=2 * rounding)


# -- the op ------------------------------------------------------------------------------------------------------------
SERVED = {"kv": 2, "group": 2, "width": 64, "block_size": 16}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [0.2, -0.2])
def test_each_sequence_sees_its_own_keys_up_to_its_own_place(dtype: torch.dtype, scale: float) -> None:
    inputs = given(dtype, **SERVED)
    rounding = 1e-5 if dtype == torch.float32 else 4 * torch.finfo(dtype).eps
    out = prompt_attention(*inputs, scale=scale)
    torch.testing.assert_close(out.double(), alone(SEQUENCES, inputs, scale), rtol=rounding, atol=rounding)


def test_queries_that_see_nothing_give_zeros() -> None:
    q, keys, values, tables, _ = given(torch.float32, **SERVED)
    pieces = torch.tensor([[0, 5, 1, 2], [5, 4, 1, 0], [9, 3, 1, -7], [0, 0, 0, 0]], dtype=torch.int32)
    out = prompt_attention(q, keys, values, tables, pieces, scale=0.2)
    assert not out[:3].any()
    assert out[3:5].any(-1).all()
    assert not out[5:].any()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": torch.zeros(3, 4, 32)}, r"q is .* not contiguous \[T, 2 \* G, 64\]"),
        ({"q": torch.zeros(3, 3, 64)}, "q is "),
        ({"keys": torch.zeros(3, 64)}, r"keys is .* not \[blocks, K, block_size, D\]"),
        ({"values": torch.zeros(3, 2, 16, 64).half()}, "values is torch.float16"),
        ({"tables": torch.zeros(3, 4).long()}, "tables is torch.int64"),
        ({"pieces": torch.zeros(3, 3).int()}, r"pieces is .* not contiguous int32 \[P, 4\]"),
    ],
)
def test_what_does_not_fit_is_named(changed: dict[str, Tensor], message: str) -> None:
    names = "q", "keys", "values", "tables", "pieces"
    right = dict(zip(names, given(torch.float32, **SERVED), strict=True))
    with pytest.raises(ValueError, match=message):
        prompt_attention(**{**right, **changed}, scale=1.0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dtype": torch.float32}, "dtype torch.float32"),
        ({"width": 96}, "heads of 96 elements"),
        ({"group": 129}, "129 heads share keys"),
        ({"block_size": 12}, "blocks of 12 tokens"),
        ({}, "tensors are on cpu"),
    ],
)
def test_why_the_kernel_does_not_run_is_said(changed: dict[str, object], reason: str) -> None:
    asked = {"dtype": torch.bfloat16, "width": 128, "group": 2, "block_size": 16, **changed}
    assert reason in why_not_here(torch.device("cpu"), **asked)


def test_torchs_own_rules_for_ops() -> None:
    rules = ("test_schema", "test_faketensor")
    torch.library.opcheck(
        torch.ops.gridstride.prompt_attention.default, [*given(torch.float32, **SERVED), 0.1], test_utils=rules
    )


LONG = [(300, 0), (1, 0), (64, 64), (65, 1000), (2, 2000)]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("kv", "group", "width", "block_size"),
    [(8, 2, 128, 16), (2, 4, 64, 8), (1, 7, 128, 32), (3, 1, 64, 40), (1, 8, 128, 256)],
)
def test_any_shape_on_a_gpu(dtype: torch.dtype, kv: int, group: int, width: int, block_size: int) -> None:
    inputs = given(dtype, kv=kv, group=group, width=width, block_size=block_size, sequences=LONG)
    there = [x.cuda() for x in inputs]
    if reason := why_not(there[0], there[1]):
        pytest.skip(reason)
    for scale in (width**-0.5, -0.1):
        out = prompt_attention(*there, scale=scale).cpu()
        rounding = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(out.double(), alone(LONG, inputs, scale), rtol=rounding, atol=rounding)


@pytest.mark.gpu
def test_a_recorded_graph_serves_other_pieces() -> None:
    there = [x.cuda() for x in given(torch.bfloat16, **SERVED)]
    if reason := why_not(there[0], there[1]):
        pytest.skip(reason)
    *_, pieces = there
    prompt_attention(*there, scale=0.2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = prompt_attention(*there, scale=0.2)
    pieces.copy_(torch.tensor([[0, 5, 1, 40]] + [[0] * 4] * (len(pieces) - 1), dtype=torch.int32))
    graph.replay()
    torch.testing.assert_close(out[:5], prompt_attention(*there, scale=0.2)[:5])


@pytest.mark.gpu
def test_what_the_kernel_cannot_run_is_refused_on_a_gpu() -> None:
    with pytest.raises(ValueError, match=r"dtype torch\.float32 .* gridstride\.ops\.attention"):
        prompt_attention(*(x.cuda() for x in given(torch.float32, **SERVED)), scale=1.0)
