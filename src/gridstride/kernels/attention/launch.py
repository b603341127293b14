"""The last rung of attention as the ops launch it, alone or with lse for the backward pass, and what it asks for."""

from __future__ import annotations

import torch
from torch import Tensor

from gridstride.kernels.torch_op import ceil_div, check, check_float, launcher, properties

RUNG = "07_fixed_offsets"
MACROS: dict[torch.dtype, dict[str, object]] = {torch.float16: {}, torch.bfloat16: {"BFLOAT16": 1}}
"""By the dtypes that attention's rungs, forward and backward, are compiled for."""
SECOND_DERIVATIVES = (
    "for second derivatives use torch.nn.functional.scaled_dot_product_attention under "
    "torch.nn.attention.sdpa_kernel(SDPBackend.MATH), PyTorch's only kernel that has them"
)
_WIDTHS = 64, 128, 256
_QUERIES, _THREADS = 128, 384  # of a block: queries, threads
_LONGEST = (1 << 31) - 1 - _QUERIES  # tokens that the kernels count in an int, with a tile more


def check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    """ValueError unless q is [B, heads, Q, D], k and v are [B, kv_heads, K, D], of one dtype and device."""
    check_float(q, "q", double=True)
    check(q.dim() == 4 and q.shape[-1] > 0, "q", q, "[B, heads, Q, D]")
    same = k.dim() == 4 and (k.shape[0], k.shape[3]) == (q.shape[0], q.shape[3])
    fits = same and k.dtype == q.dtype and k.device == q.device
    check(fits, "k", k, lambda: f"{q.dtype} [{q.shape[0]}, kv_heads, K, {q.shape[3]}] on {q.device}")
    heads = k.shape[1] > 0 and q.shape[1] % k.shape[1] == 0
    check(heads, "k", k, lambda: f"[B, kv_heads, K, D] with kv_heads a divisor of the {q.shape[1]} heads of q")
    matches = v.shape == k.shape and v.dtype == k.dtype and v.device == k.device
    check(matches, "v", v, lambda: f"{k.dtype} {tuple(k.shape)} on {k.device} as k is")


def bounded(q: Tensor, k: Tensor, past: int | None) -> int:
    """The same mask by a number that neither -Q nor K bounds further; K: there is none."""
    queries, keys = q.shape[2], k.shape[2]
    return keys if past is None or past >= keys - 1 else max(past, -queries)


def why_not_possible(q: Tensor, k: Tensor) -> str:
    """Why the last rungs of attention, forward and backward, do not run for these; empty where they do."""
    return why_not_of(q, max(q.shape[2], k.shape[2]))


def why_not_of(q: Tensor, tokens: int) -> str:
    """The same for heads as q has them and so many tokens of queries or keys, the larger of both."""
    if not q.is_cuda:
        return f"tensors are on {q.device}"
    if q.dtype not in MACROS:
        return f"dtype {q.dtype} is not one of {', '.join(map(str, MACROS))}"
    if q.shape[-1] not in _WIDTHS:
        return f"heads of {q.shape[-1]} elements are not of {' or '.join(map(str, _WIDTHS))}"
    if tokens > _LONGEST:
        return f"sequences are longer than {_LONGEST} tokens"
    gpu = properties(q.device)
    return "" if gpu.compute_capability == (9, 0) else f"{gpu.name} has no wgmma"


def aligned(x: Tensor) -> Tensor:
    """Contiguous, at an address that 16 bytes can be read from."""
    x = x.contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone()


def shared_bytes(width: int) -> int:
    """What RUNG needs for heads of `width`: queries, and two tiles each of keys and values."""
    return 2 * width * (_QUERIES + 4 * (80 if width == 256 else 128))


def run_rung(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float, lse: Tensor | None = None) -> Tensor:
    """What `why_not_possible` has nothing against; `lse` [B, heads, Q] in float32 is written where it is given."""
    if not scale:
        q, scale = q * 0, 1.0
    q, k, v = (aligned(x) for x in (q, k, v))
    out = torch.empty_like(q)
    batch, heads, queries, width = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    macros = MACROS[q.dtype] if lse is None else {**MACROS[q.dtype], "LOG_SUM_EXP": 1}
    run = launcher("attention", RUNG, q.device, HEAD_WIDTH=width, **macros)
    if count := batch * heads * ceil_div(queries, _QUERIES):
        blocks = min(properties(q.device).multiprocessors, count)
        args = (q, k, v, out, batch * kv_heads, heads // kv_heads, queries, keys, past)
        run((blocks, 1, 1), _THREADS, *args, *([] if lse is None else [lse]), scale, shared=shared_bytes(width))
    return out


def run_packed_rung(
    q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor]:
    """out [T, heads, D] and lse [heads, T] of packed sequences, for what `why_not_possible` has nothing against.

    The last query of a sequence sees its last key and `past` more, each one before it one less.
    """
    if not scale:
        q, scale = q * 0, 1.0
    q, k, v = (aligned(x) for x in (q, k, v))
    tokens, heads, width = q.shape
    kv_heads, sequences = k.shape[1], len(cu_q) - 1
    out, lse = torch.empty_like(q), torch.empty((heads, tokens), dtype=torch.float32, device=q.device)
    run = launcher("attention", RUNG, q.device, HEAD_WIDTH=width, VARLEN=1, LOG_SUM_EXP=1, **MACROS[q.dtype])
    if tokens:
        blocks = min(properties(q.device).multiprocessors, (tokens // _QUERIES + sequences) * heads)
        run(
            (blocks, 1, 1), _THREADS, q, k, v, out, kv_heads, heads // kv_heads, tokens, len(k), past, cu_q, cu_k,
            sequences, lse, scale, shared=shared_bytes(width),
        )  # fmt: skip
    return out, lse
