"""gridstride::prompt_attention: queries of several sequences in one call look at their keys in the paged cache."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.attention.launch import MACROS
from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import check, check_aligned, check_devices, check_float, launcher, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "prompt_attention(Tensor q, Tensor keys, Tensor values, Tensor tables, Tensor pieces, float scale) -> Tensor"
)
RUNG = "03_ping_pong"
_WIDTHS = 64, 128
_ROWS, _KEYS, _THREADS = 128, 128, 384  # of a block: rows of queries, keys of a tile, threads
_EIGHT = 8  # keys in a row that lie in one block of the cache


def prompt_attention(
    q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, pieces: Tensor, *, scale: float
) -> Tensor:
    """softmax(scale q k) v [T, H, D] of q [T, H, D] over the cache [blocks, K, block_size, D].

    tables int32 [S, W] names each sequence's blocks in order. pieces int32 [P, 4], each up to `piece_queries` queries
    of one sequence: its first row of q, how many rows, the sequence's row of tables, and how many keys the last of them
    sees; each one before it sees a key less, and one that sees none gives zeros. Unused pieces have no queries and come
    last; rows in no piece get anything. The longest pieces first keep all of the GPU at work. The numbers are read on
    the GPU alone: a recorded graph serves all that P has room for.
    ValueError for what the kernel cannot run: `why_not` says what that is.
    """
    out: Tensor = _call(q, keys, values, tables, pieces, scale)
    return out


def piece_queries(group: int) -> int:
    """Queries of a piece at most, where `group` heads share keys: the heads of one query are rows of one tile."""
    return _ROWS // group


def why_not(q: Tensor, keys: Tensor) -> str:
    """Why the kernel does not run for these; empty where it does."""
    if not q.is_cuda:
        return f"tensors are on {q.device}"
    return why_not_here(q.device, q.dtype, q.shape[2], q.shape[1] // keys.shape[1], keys.shape[2])


def why_not_here(device: torch.device, dtype: torch.dtype, width: int, group: int, block_size: int) -> str:
    """The same before there are tensors: for heads of `width` of which `group` share keys."""
    if dtype not in MACROS:
        return f"dtype {dtype} is not one of {', '.join(map(str, MACROS))}"
    if width not in _WIDTHS:
        return f"heads of {width} elements are not of {' or '.join(map(str, _WIDTHS))}"
    if group > _ROWS:
        return f"{group} heads share keys: {_ROWS} are the most"
    if block_size % _EIGHT:
        return f"blocks of {block_size} tokens: a multiple of {_EIGHT} is needed"
    if device.type != "cuda":
        return f"tensors are on {device}"
    gpu = properties(device)
    return "" if gpu.compute_capability == (9, 0) else f"{gpu.name} has no wgmma"


@torch.library.impl(_LIBRARY, "prompt_attention", "CUDA")
def _cuda(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, pieces: Tensor, scale: float) -> Tensor:
    _check(q, keys, values, tables, pieces)
    check_aligned(q=q, keys=keys, values=values)
    if reason := why_not(q, keys):
        raise ValueError(
            f"prompt_attention cannot run here: {reason}; gather the keys and use gridstride.ops.attention"
        )
    _, kv_heads, block_size, width = keys.shape
    if not scale:
        q, scale = torch.zeros_like(q), 1.0
    out = torch.empty_like(q)
    blocks = min(properties(q.device).multiprocessors, len(pieces) * kv_heads)
    if blocks and len(q):
        run = launcher(
            "prompt_attention", RUNG, q.device, HEAD_WIDTH=width, GROUP=q.shape[1] // kv_heads, BLOCK_SIZE=block_size,
            **MACROS[q.dtype],
        )  # fmt: skip
        run(
            (blocks, 1, 1), _THREADS, q, keys, values, tables, pieces, out, kv_heads, len(pieces), tables.stride(0),
            scale, shared=2 * width * (_ROWS + 4 * _KEYS),
        )  # fmt: skip
    return out


def _check(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, pieces: Tensor) -> None:
    check_float(q, "q")
    check(keys.dim() == 4 and keys.shape[1] > 0, "keys", keys, "[blocks, K, block_size, D]")
    _, kv_heads, _, width = keys.shape
    grouped = q.dim() == 3 and q.shape[2] == width and q.shape[1] > 0 and q.shape[1] % kv_heads == 0
    check(q.is_contiguous() and grouped, "q", q, lambda: f"contiguous [T, {kv_heads} * G, {width}]")
    for name, cache in (("keys", keys), ("values", values)):
        same = cache.dtype == q.dtype and cache.is_contiguous() and cache.shape == keys.shape
        check(same, name, cache, lambda: f"contiguous {q.dtype} {tuple(keys.shape)}")
        check(cache.numel() < width << 31, name, cache, "of less than 2^31 rows")
    rows = tables.dtype == torch.int32 and tables.dim() == 2 and tables.stride(1) == 1
    check(rows, "tables", tables, "int32 [S, W], rows contiguous")
    fours = pieces.dtype == torch.int32 and pieces.dim() == 2 and pieces.shape[1] == 4 and pieces.is_contiguous()
    check(fours, "pieces", pieces, "contiguous int32 [P, 4]")
    check_devices("q", q, "keys values tables pieces", keys, values, tables, pieces)


@torch.library.impl(_LIBRARY, "prompt_attention", "CPU")
def _cpu(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, pieces: Tensor, scale: float) -> Tensor:
    _check(q, keys, values, tables, pieces)
    check_aligned(q=q, keys=keys, values=values)
    out = torch.zeros_like(q)
    for first, count, table, visible in pieces.tolist():
        if count <= 0:
            break
        if visible > 0:
            k, v = (_rows(cache, tables[table], visible) for cache in (keys, values))
            rows = slice(first + max(0, count - visible), first + count)  # those that see something
            out[rows] = _causal(q[rows], k, v, scale)
    return out


def _causal(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """[n, H, D] of q [n, H, D], k and v [L, K, D]: the last query sees all keys, each one before it one less."""
    mask = torch.ones((len(q), len(k)), dtype=torch.bool).tril(len(k) - len(q))
    if scale <= 0:  # theirs takes its square root
        q, scale = (-q, -scale) if scale else (q * 0, 1.0)
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    return out[0].transpose(0, 1)


def _rows(cache: Tensor, table: Tensor, length: int) -> Tensor:
    """The first `length` tokens [length, K, D] of a sequence."""
    blocks = -(-length // cache.shape[2])
    return cache[table[:blocks].long()].transpose(1, 2).flatten(0, 1)[:length]


@torch.library.register_fake("gridstride::prompt_attention")
def _fake(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, pieces: Tensor, scale: float) -> Tensor:
    _check(q, keys, values, tables, pieces)
    return torch.empty_like(q)


_call = without_gradient(
    "gridstride::prompt_attention",
    _cuda,
    instead="use gridstride.ops.varlen_attention of the sequences' own keys",
)
