# grid: N (G+2)*K
# constants: HALF=32
# warps: 1
# entry: rope_and_cache

import triton
import triton.language as tl


@triton.jit
def rope_and_cache(
    qkv_ptr,
    cos_ptr,
    sin_ptr,
    qw_ptr,
    kw_ptr,
    positions_ptr,
    slots_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    n_tokens,
    group,
    n_kv,
    block_size,
    eps,
    HALF: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    heads = group * n_kv
    i = tl.arange(0, HALF)
    row = (token * (heads + 2 * n_kv) + head) * 2 * HALF
    low = tl.load(qkv_ptr + row + i).to(tl.float32)
    high = tl.load(qkv_ptr + row + HALF + i).to(tl.float32)
    slot = tl.load(slots_ptr + token)
    kv = (head - heads + n_kv) % n_kv
    to_cache = ((slot // block_size * n_kv + kv) * block_size + slot % block_size) * 2 * HALF
    if head >= heads + n_kv:
        tl.store(v_ptr + to_cache + i, low.to(tl.float16))
        tl.store(v_ptr + to_cache + HALF + i, high.to(tl.float16))
    else:
        scale = 1.0 / tl.sqrt((tl.sum(low * low, axis=0) + tl.sum(high * high, axis=0)) / (2 * HALF) + eps)
        at = tl.load(positions_ptr + token) * HALF + i
        c = tl.load(cos_ptr + at)
        s = tl.load(sin_ptr + at)
        if head < heads:
            x = low * scale * tl.load(qw_ptr + i).to(tl.float32)
            y = high * scale * tl.load(qw_ptr + HALF + i).to(tl.float32)
            place = (token * heads + head) * 2 * HALF
            tl.store(q_ptr + place + i, (x * c - y * s).to(tl.float16))
            tl.store(q_ptr + place + HALF + i, (y * c + x * s).to(tl.float16))
        else:
            x = low * scale * tl.load(kw_ptr + i).to(tl.float32)
            y = high * scale * tl.load(kw_ptr + HALF + i).to(tl.float32)
            tl.store(k_ptr + to_cache + i, (x * c - y * s).to(tl.float16))
            tl.store(k_ptr + to_cache + HALF + i, (y * c + x * s).to(tl.float16))
