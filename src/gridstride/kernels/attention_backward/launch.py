"""The last rung of attention's backward pass as the ops launch it, for sequences of one length and for packed ones."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gridstride.kernels.attention.launch import MACROS, aligned
from gridstride.kernels.torch_op import ceil_div, element, launcher

RUNG, WIDE_RUNG = "05_pipelined", "06_wide_heads"
_QUERIES, _THREADS = 64, 256  # of a tile; of a block
_DOT_THREADS, _LANES = 256, 16  # of a block of row_dot's, and of a row


class GradientInputs(NamedTuple):
    """What the gradient is made from: dout, out and q of one shape, k and v of another, lse of the forward pass."""

    dout: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    out: Tensor
    lse: Tensor


def rung_of(width: int) -> str:
    """The rung that runs for heads of `width`."""
    return WIDE_RUNG if width == 256 else RUNG


def keys_of_block(width: int) -> int:
    """Keys of a block of that rung."""
    return 64 if width == 256 else 128


def shared_bytes(width: int) -> int:
    """What that rung needs: keys, values, the ring, dS turned (P, too, and two of each in the wide one), statistics,
    and lines of dQ, which the wide one has none of.
    """
    keys = keys_of_block(width)
    stages, squares, lines = (2, 4, 0) if width == 256 else (3, 1, _THREADS // 32 * 16 * (width // 2 + 8))
    halves = 2 * keys * width + stages * 2 * _QUERIES * width + squares * keys * _QUERIES
    return 2 * halves + 4 * (2 * stages * _QUERIES + lines)


def run_rung(inputs: GradientInputs, past: int, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """dq, dk and dv of q [B, heads, Q, D], k and v [B, kv_heads, K, D], lse [B, heads, Q]."""
    dout, q, k, v = (aligned(x) for x in inputs[:4])
    delta = _row_dot(dout, aligned(inputs.out))
    dq = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    batch, heads, queries, width = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    run = launcher("attention_backward", rung_of(width), q.device, HEAD_WIDTH=width, **MACROS[q.dtype])
    if blocks := batch * kv_heads * ceil_div(keys, keys_of_block(width)):
        run(
            (blocks, 1, 1), _THREADS, q, k, v, dout, inputs.lse.contiguous(), delta, dq, dk, dv, batch * kv_heads,
            heads // kv_heads, queries, keys, past, scale, shared=shared_bytes(width),
        )  # fmt: skip
    return dq.to(q.dtype), dk, dv


def run_packed_rung(
    inputs: GradientInputs, cu_q: Tensor, cu_k: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of packed sequences: q [T, heads, D], k and v [K, kv_heads, D], lse [heads, T]."""
    dout, q, k, v = (aligned(x) for x in inputs[:4])
    delta = _row_dot(dout, aligned(inputs.out)).t().contiguous()
    dq = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    tokens, heads, width = q.shape
    keys, kv_heads, _ = k.shape
    sequences = len(cu_q) - 1
    run = launcher("attention_backward", rung_of(width), q.device, HEAD_WIDTH=width, VARLEN=1, **MACROS[q.dtype])
    if keys:
        blocks = (keys // keys_of_block(width) + sequences) * kv_heads
        run(
            (blocks, 1, 1), _THREADS, q, k, v, dout, inputs.lse.contiguous(), delta, dq, dk, dv, kv_heads,
            heads // kv_heads, tokens, keys, past, cu_q, cu_k, sequences, scale, shared=shared_bytes(width),
        )  # fmt: skip
    return dq.to(q.dtype), dk, dv


def _row_dot(a: Tensor, b: Tensor) -> Tensor:
    """The dot products of rows [..., columns] of halves, in float32, by the last rung of `row_dot`."""
    y = torch.empty(a.shape[:-1], dtype=torch.float32, device=a.device)
    run = launcher("row_dot", "03_vectors", a.device, ELEMENT=element(a), LANES=_LANES)
    if rows := y.numel():
        run((ceil_div(rows, _DOT_THREADS // _LANES), 1, 1), _DOT_THREADS, a, b, y, rows, a.shape[-1])
    return y
