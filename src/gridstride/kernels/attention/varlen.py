"""gridstride::varlen_attention and its gradient: attention of packed sequences, each over its own keys alone."""

from __future__ import annotations

from typing import Any, Literal, overload

import torch
from torch import Tensor

from gridstride.kernels.attention.launch import RUNG, SECOND_DERIVATIVES, run_packed_rung, why_not_of
from gridstride.kernels.attention.packed import Sequences, check_cuts, check_packed, check_sequences
from gridstride.kernels.attention_backward.launch import GradientInputs, rung_of
from gridstride.kernels.attention_backward.launch import run_packed_rung as run_packed_backward
from gridstride.kernels.autocast import autocast_products
from gridstride.kernels.boundary import add_gradient, need_number, need_tensors, refuse_gradient
from gridstride.kernels.torch_op import check, check_alike, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "varlen_attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    "SymInt max_seqlen_k, bool causal, float scale) -> (Tensor, Tensor)"
)
_LIBRARY.define(
    "varlen_attention_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor cu_seqlens_q, "
    "Tensor cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, bool causal, float scale) "
    "-> (Tensor, Tensor, Tensor)"
)
_FLASH_DTYPES, _FLASH_WIDTH, _FLASH_CAPABILITY = (torch.float16, torch.bfloat16), 256, (8, 0)
Three = tuple[Tensor, Tensor, Tensor]


@overload
def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int,
    *, causal: bool = False, scale: float | None = None, return_lse: Literal[False] = False,
) -> Tensor: ...  # fmt: skip
@overload
def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int,
    *, causal: bool = False, scale: float | None = None, return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def varlen_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    causal: bool = False,
    scale: float | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale q k) v [total_q, heads, D] of q [total_q, heads, D], k and v [total_k, kv_heads, D].

    Sequence s has the queries cu_seqlens_q[s] to cu_seqlens_q[s + 1] - 1 and the keys likewise, int32 [sequences + 1]
    on the tensors' device; max_seqlen_q and max_seqlen_k are at least the longest ones' lengths. Causal: the last query
    of a sequence sees all of its keys, each one before it one less. A query that sees none gives zeros. scale:
    1 / sqrt(D) unless given. With return_lse the log of the sum of e^score, too, [heads, total_q] in float32 (float64
    of float64), -Inf for a query that sees nothing; it has no gradient. `varlen_attention_kernel` says what runs.
    ValueError for shapes that do not fit and numbers that cut no sequences: those are read once for each tensor and
    change of it, not while a CUDA graph is recorded.
    """
    for name, cu in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if not isinstance(cu, Tensor):
            raise ValueError(f"{name} is a {type(cu).__name__}, not a tensor of torch.int32")
    for name, most in (("max_seqlen_q", max_seqlen_q), ("max_seqlen_k", max_seqlen_k)):
        if not isinstance(most, int | torch.SymInt):
            raise ValueError(f"{name} is a {type(most).__name__}, not an int: .item() of a tensor is one")
    need_tensors("gridstride::varlen_attention", q=q, k=k, v=v)
    if scale is not None:
        need_number("gridstride::varlen_attention", "scale", scale)
    q, k, v = autocast_products(q, k, v)
    check_packed(q, k, v)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    out, lse = torch.ops.gridstride.varlen_attention(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal, scale
    )
    return (out, lse) if return_lse else out


def varlen_attention_kernel(q: Tensor, k: Tensor, v: Tensor, *, scale: float = 1.0) -> str:
    """What `varlen_attention` runs, and its gradient: rungs' names, or "PyTorch: " and why and which way.

    ValueError for shapes that do not fit.
    """
    check_packed(q, k, v)
    if not (reason := _fallback_reason(q, k)):
        return f"{RUNG}, its gradient {rung_of(q.shape[-1])}"
    return f"PyTorch: {reason}; {'FlashAttention' if _flash_takes(q, k, scale) else 'one sequence after the other'}"


def _fallback_reason(q: Tensor, k: Tensor) -> str:
    """Why the rungs do not run for these; empty where they do. PyTorch's kernel for packed sequences is
    FlashAttention-2: both rungs together take 0.70 to 0.95 of its time, alone none over 1.01 of it, on an H200,
    bench/results/varlen_attention_h200.json.
    """
    return why_not_of(q, max(len(q), len(k)))


# -- forward -----------------------------------------------------------------------------------------------------------
@torch.library.impl(_LIBRARY, "varlen_attention", "CUDA")
@torch.library.impl(_LIBRARY, "varlen_attention", "CPU")
def _forward(
    q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, longest_q: int, longest_k: int, causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    sequences = Sequences(cu_q, cu_k, longest_q, longest_k)
    check_packed(q, k, v)
    check_sequences(sequences, q, k)
    if not _fallback_reason(q, k):
        return run_packed_rung(q, k, v, cu_q, cu_k, _past(q, causal), scale)
    if _flash_takes(q, k, scale):
        return _flash_forward(q, k, v, sequences, causal, scale)
    return _forward_per_sequence(q, k, v, sequences, causal, scale)


@torch.library.register_fake("gridstride::varlen_attention")
def _fake_forward(
    q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, longest_q: int, longest_k: int, causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    check_packed(q, k, v)
    check_cuts(cu_q, cu_k, q)
    lse = torch.empty((q.shape[1], q.shape[0]), dtype=_wide(q.dtype), device=q.device)
    return torch.empty_like(q, memory_format=torch.contiguous_format), lse


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Of lse."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _past(q: Tensor, causal: bool) -> int:
    """Keys that a query sees beyond the mask at the bottom right: none, or as many as to see all."""
    return 0 if causal else len(q)


def _flash_takes(q: Tensor, k: Tensor, scale: float) -> bool:
    """Whether PyTorch's FlashAttention has a kernel for these."""
    if not (q.is_cuda and q.dtype in _FLASH_DTYPES and q.numel() and k.numel() and scale > 0):
        return False
    fits = q.shape[-1] % 8 == 0 and q.shape[-1] <= _FLASH_WIDTH
    return fits and properties(q.device).compute_capability >= _FLASH_CAPABILITY


def _flash_forward(
    q: Tensor, k: Tensor, v: Tensor, sequences: Sequences, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    s = sequences
    q, k, v = (x.contiguous() for x in (q, k, v))
    out, lse, *_ = torch.ops.aten._flash_attention_forward(
        q, k, v, s.cu_q, s.cu_k, s.longest_q, s.longest_k, 0.0, causal, False, scale=scale
    )
    return out, lse.masked_fill(lse == torch.inf, -torch.inf)  # its word for a query that sees nothing


def _forward_per_sequence(
    q: Tensor, k: Tensor, v: Tensor, sequences: Sequences, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Each sequence by PyTorch's operations, with its scores in memory."""
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty((q.shape[1], len(q)), dtype=_wide(q.dtype), device=q.device)
    for rows, keys in sequences.slices():
        sequence = (x[None].transpose(1, 2) for x in (q[rows], k[keys], v[keys]))
        past = _past_of(rows, keys, causal)
        out_BHQD, lse_BHQ = torch.ops.gridstride.attention_with_lse(*sequence, past, scale)
        out[rows], lse[:, rows] = out_BHQD[0].transpose(0, 1), lse_BHQ[0]
    return out, lse


def _past_of(rows: slice, keys: slice, causal: bool) -> int:
    """The mask of one sequence as `attention` has it."""
    count = keys.stop - keys.start
    return count - (rows.stop - rows.start) if causal else count


# -- backward ----------------------------------------------------------------------------------------------------------
@torch.library.impl(_LIBRARY, "varlen_attention_backward", "CUDA")
@torch.library.impl(_LIBRARY, "varlen_attention_backward", "CPU")
def _backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, cu_q: Tensor, cu_k: Tensor,
    longest_q: int, longest_k: int, causal: bool, scale: float,
) -> Three:  # fmt: skip
    sequences, inputs = Sequences(cu_q, cu_k, longest_q, longest_k), GradientInputs(dout, q, k, v, out, lse)
    _check_backward(inputs, cu_q, cu_k)
    check_sequences(sequences, q, k)
    if not _fallback_reason(q, k):
        return run_packed_backward(inputs, cu_q, cu_k, _past(q, causal), scale)
    if _flash_takes(q, k, scale):
        return _flash_backward(inputs, sequences, causal, scale)
    return _backward_per_sequence(inputs, sequences, causal, scale)


@torch.library.register_fake("gridstride::varlen_attention_backward")
def _fake_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, cu_q: Tensor, cu_k: Tensor,
    longest_q: int, longest_k: int, causal: bool, scale: float,
) -> Three:  # fmt: skip
    _check_backward(GradientInputs(dout, q, k, v, out, lse), cu_q, cu_k)
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    return dq, dk, dv


def _check_backward(inputs: GradientInputs, cu_q: Tensor, cu_k: Tensor) -> None:
    dout, q, k, v, out, lse = inputs
    check_packed(q, k, v)
    check_cuts(cu_q, cu_k, q)
    check_alike(dout, "dout", q, "q")
    check_alike(out, "out", q, "q")
    fits = lse.shape == (q.shape[1], q.shape[0]) and lse.dtype == _wide(q.dtype) and lse.device == q.device
    check(fits, "lse", lse, lambda: f"{_wide(q.dtype)} [{q.shape[1]}, {q.shape[0]}] on {q.device}")


def _flash_backward(inputs: GradientInputs, sequences: Sequences, causal: bool, scale: float) -> Three:
    dout, q, k, v, out, lse = (x.contiguous() for x in inputs)
    lse = lse.masked_fill(lse == -torch.inf, torch.inf)
    unused = torch.empty(2, dtype=torch.uint64, device=q.device)  # the state of a generator that only dropout asks
    s = sequences
    dq, dk, dv = torch.ops.aten._flash_attention_backward(
        dout, q, k, v, out, lse, s.cu_q, s.cu_k, s.longest_q, s.longest_k, 0.0, causal, unused,
        unused[0], scale=scale,
    )  # fmt: skip
    return dq, dk, dv


def _backward_per_sequence(inputs: GradientInputs, sequences: Sequences, causal: bool, scale: float) -> Three:
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in inputs[1:4])
    for rows, keys in sequences.slices():
        of = rows, rows, keys, keys, rows
        sequence = [x[rows_of][None].transpose(1, 2) for x, rows_of in zip(inputs[:5], of, strict=True)]
        lse, past = inputs.lse[None, :, rows].contiguous(), _past_of(rows, keys, causal)
        slopes = torch.ops.gridstride.attention_backward(*sequence, lse, past, scale)
        dq[rows], dk[keys], dv[keys] = (x[0].transpose(0, 1) for x in slopes)
    return dq, dk, dv


# -- autograd ----------------------------------------------------------------------------------------------------------
def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, cu_q, cu_k, *ctx.numbers = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output, cu_q, cu_k)


def _gradient(ctx: Any, dout: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    slopes = torch.ops.gridstride.varlen_attention_backward(dout, *ctx.saved_tensors, *ctx.numbers)
    return (*slopes, *[None] * 6)


add_gradient("gridstride::varlen_attention", keep=_keep, gradient=_gradient)
refuse_gradient("gridstride::varlen_attention_backward", SECOND_DERIVATIVES)
