# grid: S 2*K
# constants: HEAD_SIZE=64 BLOCK_SIZE=16
# warps: 1
# entry: paged_attention_kernel

import triton
import triton.language as tl


@triton.jit
def paged_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    tables_ptr,
    lengths_ptr,
    out_ptr,
    partial_ptr,
    arrived_ptr,
    n_seqs,
    n_kv_heads,
    table_width,
    scale,
    HEAD_SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    seq = tl.program_id(0)
    head = tl.program_id(1)
    dims = tl.arange(0, HEAD_SIZE)
    slots = tl.arange(0, BLOCK_SIZE)
    place = (seq.to(tl.int64) * 2 * n_kv_heads + head) * HEAD_SIZE + dims
    length = tl.load(lengths_ptr + seq)
    q = tl.load(q_ptr + place).to(tl.float32) * scale
    m = -1.0e30
    total = 0.0
    acc = tl.zeros([HEAD_SIZE], dtype=tl.float32)
    for b in range(tl.cdiv(length, BLOCK_SIZE)):
        block = tl.load(tables_ptr + seq.to(tl.int64) * table_width + b).to(tl.int64)
        base = (block * n_kv_heads + head // 2) * BLOCK_SIZE * HEAD_SIZE
        offsets = base + slots[:, None] * HEAD_SIZE + dims[None, :]
        valid = b * BLOCK_SIZE + slots < length
        k = tl.load(k_ptr + offsets, mask=valid[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offsets, mask=valid[:, None], other=0.0).to(tl.float32)
        scores = tl.where(valid, tl.sum(q[None, :] * k, axis=1), -float("inf"))
        high = tl.maximum(m, tl.max(scores, axis=0))
        p = tl.exp(scores - high)
        old = tl.exp(m - high)
        total = total * old + tl.sum(p, axis=0)
        acc = acc * old + tl.sum(p[:, None] * v, axis=0)
        m = high
    result = tl.where(length > 0, acc / tl.where(length > 0, total, 1.0), 0.0)
    tl.store(out_ptr + place, result.to(tl.float16))
