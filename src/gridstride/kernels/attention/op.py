"""gridstride::attention: softmax(scale q k) v of whole sequences, and PyTorch's own where that is faster or needed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gridstride.kernels.torch_op import ceil_div, check, launcher, once_differentiable, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("attention(Tensor q, Tensor k, Tensor v, int past, float scale) -> Tensor")
_RUNG = "07_fixed_offsets"
_QUERIES, _KEYS, _THREADS = 128, 128, 384  # of a block: queries, keys of a tile, threads
_WIDTHS = 64, 128
_MACROS: dict[torch.dtype, dict[str, object]] = {torch.float16: {}, torch.bfloat16: {"BFLOAT16": 1}}
_LONGEST = (1 << 31) - 1 - _KEYS  # tokens that the kernel counts in an int, with a tile more
_FASTEST = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def attention(q: Tensor, k: Tensor, v: Tensor, *, past: int | None = None, scale: float | None = None) -> Tensor:
    """softmax(scale q k) v [B, heads, Q, D] of q [B, heads, Q, D], k and v [B, kv_heads, K, D], in fp32 inside.

    Query i sees the keys 0 to i + past: 0 is the causal mask, K - Q that of the last Q tokens, None no mask. A query
    that sees none gives zeros. scale: 1 / sqrt(D) unless given. Where a gradient is wanted, PyTorch's kernels run, and
    theirs is the gradient; `attention_kernel` says where else they do. ValueError for shapes that do not fit.
    """
    _check(q, k, v)
    past = _bounded(q, k, past)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        return _torchs(q, k, v, past, scale)
    out: Tensor = torch.ops.gridstride.attention(q, k, v, past, scale)
    return out


def attention_kernel(q: Tensor, k: Tensor, v: Tensor, *, past: int | None = None) -> str:
    """Which kernel `attention` runs: a rung's name, or "PyTorch: " and why. ValueError for shapes that do not fit."""
    _check(q, k, v)
    past = _bounded(q, k, past)
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        return "PyTorch: a gradient is wanted"
    reason = _why_not(q, k, past)
    return f"PyTorch: {reason}" if reason else _RUNG


def _bounded(q: Tensor, k: Tensor, past: int | None) -> int:
    """The same mask by a number that neither -Q nor K bounds further; K: there is none."""
    queries, keys = q.shape[2], k.shape[2]
    return keys if past is None or past >= keys - 1 else max(past, -queries)


def _why_not(q: Tensor, k: Tensor, past: int) -> str:
    """Why the rung does not run for these, or would be slower; empty where it runs."""
    if not q.is_cuda:
        return f"tensors are on {q.device}"
    if q.dtype not in _MACROS:
        return f"dtype {q.dtype} is not one of {', '.join(map(str, _MACROS))}"
    if q.shape[-1] not in _WIDTHS:
        return f"heads of {q.shape[-1]} elements are not of {' or '.join(map(str, _WIDTHS))}"
    if max(q.shape[2], k.shape[2]) > _LONGEST:
        return f"sequences are longer than {_LONGEST} tokens"
    gpu = properties(q.device)
    if gpu.compute_capability != (9, 0):
        return f"{gpu.name} has no wgmma"
    if past in (0, k.shape[2]) and torch.backends.cudnn.is_available() and torch.backends.cuda.cudnn_sdp_enabled():
        return "cuDNN's kernel takes 0.94 to 0.97 of the rung's time on an H200, bench/results/ops_h200.json"
    return ""


@torch.library.impl(_LIBRARY, "attention", "CUDA")
def _cuda(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    _check(q, k, v)
    past = _bounded(q, k, past)
    if _why_not(q, k, past):
        with sdpa_kernel(_FASTEST, set_priority=True):
            return _torchs(q, k, v, past, scale)
    if not scale:
        q, scale = q * 0, 1.0
    q, k, v = (_aligned(x) for x in (q, k, v))
    out = _fake(q, k, v, past, scale)
    batch, heads, queries, width = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    run = launcher("attention", _RUNG, q.device, HEAD_WIDTH=width, **_MACROS[q.dtype])
    count = batch * heads * ceil_div(queries, _QUERIES)
    if count:
        blocks = min(properties(q.device).multiprocessors, count)
        shared = 2 * width * (_QUERIES + 4 * _KEYS)
        run(
            (blocks, 1, 1), _THREADS, q, k, v, out, batch * kv_heads, heads // kv_heads, queries, keys, past, scale,
            shared=shared,
        )  # fmt: skip
    return out


def _aligned(x: Tensor) -> Tensor:
    """Contiguous, at an address that 16 bytes can be read from."""
    x = x.contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone()


@torch.library.impl(_LIBRARY, "attention", "CPU")
def _cpu(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    _check(q, k, v)
    return _torchs(q, k, v, _bounded(q, k, past), scale)


@torch.library.register_fake("gridstride::attention")
def _fake(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def _torchs(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    """The same by PyTorch's scaled dot product attention."""
    queries, keys = q.shape[2], k.shape[2]
    if not keys:
        return (q * 0).contiguous()
    if scale <= 0:  # theirs takes its square root
        q, scale = (-q, -scale) if scale else (q * 0, 1.0)
    grouped = q.shape[1] != k.shape[1]
    if past in (0, keys):
        causal = past == 0
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
        return out.contiguous()
    seen = torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(past)
    nothing = ~seen.any(-1, keepdim=True)  # zeros, with a first key in its place meanwhile: no row is NaN
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen | nothing, scale=scale, enable_gqa=grouped)
    return out.masked_fill(nothing, 0.0).contiguous()


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    check(q.dim() == 4 and q.shape[-1] > 0, "q", q, "[B, heads, Q, D]")
    same = k.dim() == 4 and (k.shape[0], k.shape[3]) == (q.shape[0], q.shape[3])
    fits = same and k.dtype == q.dtype and k.device == q.device
    check(fits, "k", k, lambda: f"{q.dtype} [{q.shape[0]}, kv_heads, K, {q.shape[3]}] on {q.device}")
    heads = k.shape[1] > 0 and q.shape[1] % k.shape[1] == 0
    check(heads, "k", k, lambda: f"[B, kv_heads, K, D] with kv_heads a divisor of the {q.shape[1]} heads of q")
    alike = v.shape == k.shape and v.dtype == k.dtype and v.device == k.device
    check(alike, "v", v, lambda: f"{k.dtype} {tuple(k.shape)} on {k.device} as k is")


once_differentiable("gridstride::attention", "gridstride.ops.attention, which takes PyTorch's kernels for gradients")
