"""gridstride::paged_attention: one new token per sequence looks at its keys and values in the paged cache."""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.paged_attention.ring import Ring, cut
from gridstride.kernels.torch_op import (
    check,
    check_aligned,
    check_devices,
    check_float,
    element,
    launcher,
    multiprocessors,
    properties,
)

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "paged_attention(Tensor q, Tensor keys, Tensor values, Tensor tables, Tensor lengths, float scale, "
    "bool fixed_past=False) -> Tensor"
)
_THREADS = 128
_FEW, _MANY = {"UNROLL": 4, "RESIDENT": 5}, {"UNROLL": 2, "RESIDENT": 8}
"""Rows on their way per lane, and blocks on a multiprocessor: few blocks need many rows each, measured on an H200."""
_MOST_SPLITS = 32
_SIXTEEN_BITS = torch.float16, torch.bfloat16
_LEAST = 256  # tokens of a split on the H200: below, the merge takes longer than the tokens


class PagedQueries(NamedTuple):
    """A token's queries [S, H, D] of each sequence, the cache, and where in it their keys and values lie."""

    q: Tensor
    keys: Tensor
    values: Tensor
    tables: Tensor
    lengths: Tensor


_ARRIVED: dict[torch.device, Tensor] = {}
"""A cache: counters of the merge, one set per GPU. Each launch leaves them at zero, for the next one of its stream."""


def paged_attention(
    q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, *, scale: float, fixed_past: bool = False
) -> Tensor:
    """softmax(scale q k) v [S, H, D] of q [S, H, D] over the cache [blocks, K, block_size, D].

    tables int32 [S, W] names each sequence's blocks in order, lengths int32 [S] its tokens; length 0 gives zeros.
    `fixed_past`: tables, lengths, and keys and values of all tokens but each sequence's last are read before the
    kernels in front of this one have ended, so nothing on the GPU may still be writing them.
    """
    out: Tensor = _call(q, keys, values, tables, lengths, scale, fixed_past)
    return out


@torch.library.impl(_LIBRARY, "paged_attention", "CUDA")
def _cuda(
    q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, scale: float, fixed_past: bool = False
) -> Tensor:
    _check(q, keys, values, tables, lengths)
    check_aligned(q=q, keys=keys, values=values)
    out = torch.empty_like(q)
    if not len(q):
        return out
    group, block_size = q.shape[1] // keys.shape[1], keys.shape[2]
    ring = _ring(q.device, q.shape[2], group, block_size) if q.dtype in _SIXTEEN_BITS else ""
    queries = PagedQueries(q, keys, values, tables, lengths)
    if isinstance(ring, Ring):
        _by_ring(ring, queries, out, scale, fixed_past)
    else:
        _by_splits(queries, out, scale)
    return out


@functools.cache
def _ring(device: torch.device, width: int, group: int, block_size: int) -> Ring | str:
    """How rung 04 is cut for this GPU, or why it cannot run: bulk copies came with compute capability 9.0.

    Where it can it does: it takes 0.81 of rung 03's time on an H200 (bench/results/paged_attention_h200.json).
    """
    gpu = properties(device)
    if gpu.compute_capability < (9, 0):
        return f"{gpu.name} has no bulk copies"
    return cut(
        width, group, block_size, shared_per_block=gpu.shared_per_block_optin,
        shared_per_multiprocessor=gpu.shared_per_multiprocessor,
    )  # fmt: skip


def _by_ring(ring: Ring, queries: PagedQueries, out: Tensor, scale: float, fixed_past: bool = False) -> None:
    """Rung 04: as many blocks as the GPU holds at a time, each with an equal share of all tokens."""
    q, keys, _, tables, _ = queries
    sequences, kv_heads = len(q), keys.shape[1]
    blocks = ring.resident * multiprocessors(q.device)
    run = launcher(
        "paged_attention", "04_bulk_ring", q.device, ELEMENT=element(q), FIXED_PAST=int(fixed_past), **ring.macros
    )
    run(
        (blocks, 1, 1), ring.threads, *queries, out,
        q.new_empty(ring.records(blocks), dtype=torch.float32), _arrived(q.device, sequences * kv_heads), sequences,
        kv_heads, tables.stride(0), scale, shared=ring.shared,
    )  # fmt: skip


def _by_splits(queries: PagedQueries, out: Tensor, scale: float) -> None:
    """Rung 03: a sequence is split over as many blocks as fit the GPU besides the others."""
    q, keys, _, tables, _ = queries
    sequences, heads, width = q.shape
    kv_heads, block_size = keys.shape[1], keys.shape[2]
    room = _MANY["RESIDENT"] * multiprocessors(q.device)  # blocks on the chip at a time
    splits = max(1, min(room // (sequences * kv_heads), _MOST_SPLITS))
    depth = _MANY if 2 * sequences * kv_heads > room else _FEW
    run = launcher(
        "paged_attention", "03_split", q.device, ELEMENT=element(q), HEAD_WIDTH=width, GROUP=heads // kv_heads,
        BLOCK_SIZE=block_size, LEAST=_LEAST, **depth,
    )  # fmt: skip
    partial = q.new_empty((sequences, heads, splits, width + 2), dtype=torch.float32) if splits > 1 else None
    run(
        (splits, kv_heads, sequences), _THREADS, *queries, out, partial,
        _arrived(q.device, sequences * kv_heads), sequences, kv_heads, tables.stride(0), scale,
    )  # fmt: skip


def _arrived(device: torch.device, least: int) -> Tensor:
    counters = _ARRIVED.get(device)
    if counters is None or counters.numel() < least:
        counters = _ARRIVED[device] = torch.zeros(max(least, 1 << 16), dtype=torch.int32, device=device)
    return counters


def _check(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor) -> None:
    check_float(q, "q")
    cache_shape, dtype, sequences = keys.shape, q.dtype, q.shape[:1]
    check(len(cache_shape) == 4 and cache_shape[1] > 0, "keys", keys, "[blocks, K, block_size, D]")
    _, kv_heads, _, width = cache_shape
    fits = q.dim() == 3 and q.shape[2] == width and q.shape[1] % kv_heads == 0 and q.is_contiguous()
    check(fits, "q", q, lambda: f"contiguous [S, {kv_heads} * G, {width}]")
    for name, cache in (("keys", keys), ("values", values)):
        if cache.dtype != dtype or cache.shape != cache_shape or not cache.is_contiguous():
            check(False, name, cache, f"contiguous {dtype} {tuple(cache_shape)}")
    rows = tables.dtype == torch.int32 and tables.dim() == 2 and tables.stride(1) == 1
    if not rows or tables.shape[:1] != sequences:
        check(False, "tables", tables, f"int32 [{len(q)}, W], rows contiguous")
    if lengths.dtype != torch.int32 or lengths.shape != sequences or not lengths.is_contiguous():
        check(False, "lengths", lengths, f"contiguous int32 [{len(q)}]")
    check_devices("q", q, "keys values tables lengths", keys, values, tables, lengths)


@torch.library.impl(_LIBRARY, "paged_attention", "CPU")
def _cpu(
    q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, scale: float, fixed_past: bool = False
) -> Tensor:
    _check(q, keys, values, tables, lengths)
    check_aligned(q=q, keys=keys, values=values)
    out = torch.zeros_like(q)
    group = q.shape[1] // keys.shape[1]
    for s, length in enumerate(lengths.tolist()):
        if length:
            k, v = (_rows(cache, tables[s], length).repeat_interleave(group, dim=1).float() for cache in (keys, values))
            weights = torch.einsum("hd,thd->ht", q[s].float() * scale, k).softmax(dim=-1)
            out[s] = torch.einsum("ht,thd->hd", weights, v).to(q.dtype)
    return out


def _rows(cache: Tensor, table: Tensor, length: int) -> Tensor:
    """The first `length` tokens [length, K, D] of a sequence."""
    blocks = -(-length // cache.shape[2])
    return cache[table[:blocks].long()].transpose(1, 2).flatten(0, 1)[:length]


@torch.library.register_fake("gridstride::paged_attention")
def _fake(
    q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, scale: float, fixed_past: bool = False
) -> Tensor:
    _check(q, keys, values, tables, lengths)
    return torch.empty_like(q)


_call = without_gradient(
    "gridstride::paged_attention", _cuda, instead="use gridstride.ops.attention of the sequences' own keys"
)
