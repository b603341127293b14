"""Sequences of different lengths packed into one tensor: where each begins, and what is wrong with such numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from gridstride.kernels.torch_op import check, check_float


@dataclass(frozen=True, slots=True)
class Sequences:
    """cu_q and cu_k int32 [sequences + 1]: a sequence's queries are the rows cu_q[s] to cu_q[s + 1] - 1, its keys
    likewise. longest_q and longest_k are at least the lengths of the longest ones.
    """

    cu_q: Tensor
    cu_k: Tensor
    longest_q: int
    longest_k: int

    def __len__(self) -> int:
        return len(self.cu_q) - 1

    def slices(self) -> list[tuple[slice, slice]]:
        """Rows of queries and of keys of each sequence; waits for the GPU where the numbers are there."""
        q, k = self.cu_q.tolist(), self.cu_k.tolist()
        return [(slice(q[s], q[s + 1]), slice(k[s], k[s + 1])) for s in range(len(self))]


def check_packed(q: Tensor, k: Tensor, v: Tensor) -> None:
    """ValueError unless q is [T, heads, D], k and v are [K, kv_heads, D], of one dtype and device."""
    check_float(q, "q", double=True)
    check(q.dim() == 3 and q.shape[1] > 0 and q.shape[2] > 0, "q", q, "[total_q, heads, D]")
    fits = k.dim() == 3 and k.shape[2] == q.shape[2] and k.dtype == q.dtype and k.device == q.device
    check(fits, "k", k, lambda: f"{q.dtype} [total_k, kv_heads, {q.shape[2]}] on {q.device}")
    heads = k.shape[1] > 0 and q.shape[1] % k.shape[1] == 0
    check(heads, "k", k, lambda: f"[total_k, kv_heads, D] with kv_heads a divisor of the {q.shape[1]} heads of q")
    matches = v.shape == k.shape and v.dtype == k.dtype and v.device == k.device
    check(matches, "v", v, lambda: f"{k.dtype} {tuple(k.shape)} on {k.device} as k is")


def check_cuts(cu_q: Tensor, cu_k: Tensor, q: Tensor) -> None:
    """ValueError unless both are int32 [sequences + 1] on q's device."""
    for name, cu in (("cu_seqlens_q", cu_q), ("cu_seqlens_k", cu_k)):
        fits = cu.dtype == torch.int32 and cu.dim() == 1 and cu.shape[0] > 1 and cu.is_contiguous()
        check(fits and cu.device == q.device, name, cu, lambda: f"contiguous torch.int32 [sequences + 1] on {q.device}")
    check(cu_k.shape[0] == cu_q.shape[0], "cu_seqlens_k", cu_k, lambda: f"of {len(cu_q)} numbers as cu_seqlens_q is")


def check_sequences(sequences: Sequences, q: Tensor, k: Tensor) -> None:
    """ValueError unless the numbers cut all rows of q and k into sequences that are no longer than is said.

    The numbers are read once for each tensor and each change of it, which waits for the GPU where they are there; not
    while a CUDA graph is recorded, whose replays read whatever numbers the tensor holds by then.
    """
    cu_q, cu_k = sequences.cu_q, sequences.cu_k
    check_cuts(cu_q, cu_k, q)
    if q.is_cuda and torch.cuda.is_current_stream_capturing():
        return
    for letter, cu, x, most in (("q", cu_q, q, sequences.longest_q), ("k", cu_k, k, sequences.longest_k)):
        total, longest, sequence = _read("cu_seqlens_" + letter, cu)
        if total != len(x):
            raise ValueError(f"cu_seqlens_{letter} ends with {total}, not with {len(x)}, the rows of {letter}")
        if longest > most:
            raise ValueError(f"max_seqlen_{letter} is {most}: sequence {sequence} of {letter} has {longest} tokens")


_READ: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""By tensor, its version and what `_read` gave: a model's layers share one tensor, and one wait for the GPU."""


def _read(name: str, cu: Tensor) -> tuple[int, int, int]:
    """The last number, the length of the longest sequence and which one that is; ValueError unless the numbers begin
    with 0 and never fall.
    """
    version = None if cu.is_inference() else cu._version  # changes of inference tensors are not counted
    cached = _READ.get(cu)
    if cached is not None and version is not None and cached[0] == version:
        return tuple(cached[1])
    numbers = cu.tolist()
    if numbers[0] != 0:
        raise ValueError(f"{name} begins with {numbers[0]}, not with 0")
    lengths = [end - start for start, end in pairwise(numbers)]
    if min(lengths) < 0:
        at = lengths.index(min(lengths)) + 1
        raise ValueError(f"{name}[{at}] is {numbers[at]}, less than {numbers[at - 1]} before it: sums never fall")
    lengths_read = numbers[-1], max(lengths), lengths.index(max(lengths))
    _READ[cu] = version, lengths_read
    return lengths_read
