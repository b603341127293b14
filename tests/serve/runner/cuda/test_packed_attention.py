"""Attention of several prompts in one call is that of each by itself, however they are cut into pieces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from gridstride.serve.runner.cuda.packed_attention import PIECE, Pieces, packed_attention
from gridstride.serve.runner.cuda.pieces import cut, room

SEQUENCES = [(3, 0), (PIECE, 0), (PIECE + 1, 70), (1, 40), (2 * PIECE + 44, 300)]
"""New tokens, and those before them."""
CASES = [
    pytest.param("cpu", torch.float32, id="cpu"),
    pytest.param("cuda", torch.float32, marks=pytest.mark.gpu, id="efficient"),
    pytest.param("cuda", torch.bfloat16, marks=pytest.mark.gpu, id="flash"),
    pytest.param("cuda", torch.float16, marks=pytest.mark.gpu, id="flash, half"),
]


def alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of one sequence's last queries [T, H, D] over all its keys [L, K, D], in float64."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (t.double().transpose(0, 1) for t in (q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)))
    mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.1).transpose(0, 1)


@pytest.mark.parametrize("heads", [(4, 2), (2, 2)])
@pytest.mark.parametrize(("device", "dtype"), CASES)
def test_each_sequence_sees_its_own_keys_up_to_its_own_place(
    device: str, dtype: torch.dtype, heads: tuple[int, int]
) -> None:
    counts = np.array([new for new, _ in SEQUENCES])
    lengths = np.array([new + before for new, before in SEQUENCES], np.int32)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    tokens, keys, unused = int(counts.sum()), int(lengths.sum()), 5
    draw = torch.Generator().manual_seed(0)
    q = torch.randn(tokens + 9, heads[0], 64, generator=draw).to(dtype)  # rows in no piece, and keys of nobody
    k, v = (torch.randn(keys + 9, heads[1], 64, generator=draw).to(dtype) for _ in range(2))
    k[keys:], v[keys:] = torch.nan, torch.nan
    made = cut(starts, lengths, PIECE)
    queries, begins = np.concatenate((made.first, starts[-1:])), (np.cumsum(lengths) - lengths)[made.owner]
    pieces = Pieces(
        torch.from_numpy(np.pad(queries, (0, unused), mode="edge")).to(device),
        torch.from_numpy(np.pad(begins.astype(np.int32), (0, unused + 1))).to(device),
        torch.from_numpy(np.pad(made.visible_keys, (0, unused))).to(device),
    )
    out = packed_attention(*(t.to(device) for t in (q, k, v)), pieces, scale=0.1)[:tokens].cpu()
    ends = np.cumsum(lengths)
    places = zip(starts, starts[1:], ends - lengths, ends, strict=False)  # `starts` has one more
    expected = torch.cat([alone(q[start:end], k[first:last], v[first:last]) for start, end, first, last in places])
    assert (out.double() - expected).abs().max() < (1e-5 if dtype == torch.float32 else 2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_calls_for_a_gpu_are_as_this_pytorch_wants_them(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    with FakeTensorMode():
        q, k, v = (torch.empty((300, heads, 128), dtype=dtype, device="cuda") for heads in (16, 8, 8))
        queries, keys, seen = (torch.zeros(count, dtype=torch.int32, device="cuda") for count in (6, 6, 5))
        out = packed_attention(q, k, v, Pieces(queries, keys, seen), scale=0.1)
    assert (out.shape, out.dtype, out.device.type) == (q.shape, dtype, "cuda")


def test_there_is_room_for_the_pieces_of_any_sequences() -> None:
    for counts in ([1], [PIECE], [PIECE + 1], [PIECE + 1] * 7, [1] * 9, [5 * PIECE - 1, 2, 3 * PIECE + 1]):
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        made = cut(starts, np.array(counts, np.int32), PIECE)
        assert len(made.count) <= room(sum(counts), len(counts), PIECE)
        assert made.count.sum() == sum(counts)
