"""gridstride::rotary_cache: queries and keys normed and turned, keys and values put into the paged cache."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_devices, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "rotary_cache(Tensor qkv, Tensor cosine, Tensor sine, Tensor? q_weight, Tensor? k_weight, Tensor positions, "
    "Tensor slots, Tensor(a!) keys, Tensor(b!) values, float eps, bool fixed_tables=False) -> Tensor"
)
_WARPS = 4


def rotary_cache(
    qkv: Tensor, cosine: Tensor, sine: Tensor, q_weight: Tensor | None, k_weight: Tensor | None, positions: Tensor,
    slots: Tensor, keys: Tensor, values: Tensor, eps: float, *, fixed_tables: bool = False,
) -> Tensor:  # fmt: skip
    """Queries [N, H, D] of qkv [N, (H + 2K) D]; keys and values [blocks, K, block_size, D] are written at `slots` [N].

    cosine and sine are fp32 [context, D/2], read at `positions` [N]; the weights [D] norm each head first where given.
    `fixed_tables`: all of these and the slots are read before the kernels in front of this one have ended, so nothing
    on the GPU may still be writing them.
    """
    out: Tensor = _call(qkv, cosine, sine, q_weight, k_weight, positions, slots, keys, values, eps, fixed_tables)
    return out


@torch.library.impl(_LIBRARY, "rotary_cache", "CUDA")
def _cuda(
    qkv: Tensor, cosine: Tensor, sine: Tensor, q_weight: Tensor | None, k_weight: Tensor | None, positions: Tensor,
    slots: Tensor, keys: Tensor, values: Tensor, eps: float, fixed_tables: bool = False,
) -> Tensor:  # fmt: skip
    q = _fake(qkv, cosine, sine, q_weight, k_weight, positions, slots, keys, values, eps)
    tokens, heads, width = q.shape
    kv_heads, block_size = keys.shape[1], keys.shape[2]
    if tokens:
        run = launcher(
            "rotary_cache", "03_warp_per_head", qkv.device, ELEMENT=element(qkv), HEAD_WIDTH=width,
            FIXED_TABLES=int(fixed_tables),
        )  # fmt: skip
        run(
            (ceil_div(tokens * (heads + 2 * kv_heads), _WARPS), 1, 1), 32 * _WARPS, qkv, cosine, sine, q_weight,
            k_weight, positions, slots, q, keys, values, tokens, heads // kv_heads, kv_heads, block_size, eps,
        )  # fmt: skip
        torch.autograd.graph.increment_version((keys, values))
    return q


def _check(qkv: Tensor, tables: tuple[Tensor, Tensor], indices: tuple[Tensor, Tensor], keys: Tensor, values: Tensor,
           weights: tuple[Tensor | None, Tensor | None]) -> None:  # fmt: skip
    check_float(qkv, "qkv")
    cache_shape, dtype, (cosine, sine) = keys.shape, qkv.dtype, tables
    check(len(cache_shape) == 4 and min(cache_shape[1:]) > 0, "keys", keys, "[blocks, K, block_size, D]")
    _, kv_heads, _, width = cache_shape
    check(width % 64 == 0, "keys", keys, "[blocks, K, block_size, D] with D a multiple of 64")
    row = kv_heads * width
    is_packed = qkv.dim() == 2 and qkv.shape[1] % row == 0 and qkv.shape[1] >= 3 * row and qkv.is_contiguous()
    check(is_packed, "qkv", qkv, lambda: f"contiguous [N, (G + 2) * {row}]")
    for name, cache in (("keys", keys), ("values", values)):
        if cache.dtype != dtype or cache.shape != cache_shape or not cache.is_contiguous():
            check(False, name, cache, f"contiguous {dtype} {tuple(cache_shape)}")
    for name, weight in (("q_weight", weights[0]), ("k_weight", weights[1])):
        if weight is not None and (weight.dtype != dtype or weight.shape != (width,) or not weight.is_contiguous()):
            check(False, name, weight, f"contiguous {dtype} [{width}]")
    for name, table in (("cosine", cosine), ("sine", sine)):
        fits = table.dtype == torch.float32 and table.dim() == 2 and table.is_contiguous()
        if not fits or table.shape[1] != width // 2 or table.shape != cosine.shape:
            check(False, name, table, f"contiguous float32 [context, {width // 2}]")
    for name, index in (("positions", indices[0]), ("slots", indices[1])):
        if index.dtype != torch.int64 or index.shape != qkv.shape[:1] or not index.is_contiguous():
            check(False, name, index, f"contiguous int64 [{len(qkv)}]")
    names = "keys values cosine sine positions slots q_weight k_weight"
    check_devices("qkv", qkv, names, keys, values, *tables, *indices, *weights)


@torch.library.impl(_LIBRARY, "rotary_cache", "CPU")
def _cpu(
    qkv: Tensor, cosine: Tensor, sine: Tensor, q_weight: Tensor | None, k_weight: Tensor | None, positions: Tensor,
    slots: Tensor, keys: Tensor, values: Tensor, eps: float, fixed_tables: bool = False,
) -> Tensor:  # fmt: skip
    _check(qkv, (cosine, sine), (positions, slots), keys, values, (q_weight, k_weight))
    kv_heads, block_size, width = keys.shape[1:]
    heads = qkv.shape[1] // width - 2 * kv_heads
    q, k, v = qkv.unflatten(1, (-1, width)).split((heads, kv_heads, kv_heads), dim=1)
    block, offset = slots // block_size, slots % block_size
    keys[block, :, offset] = _rotated(k, k_weight, cosine[positions], sine[positions], eps)
    values[block, :, offset] = v
    return _rotated(q, q_weight, cosine[positions], sine[positions], eps)


def _rotated(x: Tensor, weight: Tensor | None, cosine: Tensor, sine: Tensor, eps: float) -> Tensor:
    if weight is not None:
        x = F.rms_norm(x, (x.shape[-1],), weight, eps)
    low, high = x.float().chunk(2, dim=-1)
    c, s = cosine.unsqueeze(1), sine.unsqueeze(1)
    return torch.cat((low * c - high * s, high * c + low * s), dim=-1).to(x.dtype)


@torch.library.register_fake("gridstride::rotary_cache")
def _fake(
    qkv: Tensor, cosine: Tensor, sine: Tensor, q_weight: Tensor | None, k_weight: Tensor | None, positions: Tensor,
    slots: Tensor, keys: Tensor, values: Tensor, eps: float, fixed_tables: bool = False,
) -> Tensor:  # fmt: skip
    _check(qkv, (cosine, sine), (positions, slots), keys, values, (q_weight, k_weight))
    kv_heads, width = keys.shape[1], keys.shape[3]
    return qkv.new_empty((qkv.shape[0], qkv.shape[1] // width - 2 * kv_heads, width))


_call = without_gradient(
    "gridstride::rotary_cache",
    _cuda,
    instead="use gridstride.ops.rotary",
)
