# Triton: one program per tile of queries; what 04_mma.cu writes out, its compiler arranges by itself.
#
# entry: attention
# grid: ceil(Q/64)*G*H
# constants: D=128 QUERIES=64 KEYS=64
# warps: 4
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, H, G, Q, K, past, scale, D: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr):
    tiles = tl.cdiv(Q, QUERIES)
    head = (tl.program_id(0) // tiles).to(tl.int64)
    first = tl.program_id(0) % tiles * QUERIES
    k += head // G * K * D
    v += head // G * K * D
    query = first + tl.arange(0, QUERIES)
    d = tl.arange(0, D)
    rows = (head * Q + query)[:, None] * D + d[None, :]
    limit = tl.minimum(query.to(tl.int64) + past + 1, K)  # keys that a query sees
    most = tl.minimum(first.to(tl.int64) + QUERIES + past, K).to(tl.int32)  # that any query here sees
    queries = tl.load(q + rows, mask=query[:, None] < Q, other=0.0)
    largest = tl.full((QUERIES,), -float("inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    sums = tl.zeros((QUERIES, D), tl.float32)
    for start in range(0, most, KEYS):
        key = start + tl.arange(0, KEYS)
        at = key.to(tl.int64)[:, None] * D + d[None, :]
        keys = tl.load(k + at, mask=key[:, None] < K, other=0.0)
        score = tl.dot(queries, tl.trans(keys)) * (scale * 1.44269504)  # times log2(e)
        score = tl.where(key[None, :] < limit[:, None], score, -float("inf"))
        now = tl.maximum(largest, tl.max(score, axis=1))
        down = tl.where(now == -float("inf"), 0.0, now)  # nothing yet: -Inf - -Inf would be NaN
        keep = tl.exp2(largest - down)
        weight = tl.exp2(score - down[:, None])
        largest = now
        total = total * keep + tl.sum(weight, axis=1)
        values = tl.load(v + at, mask=key[:, None] < K, other=0.0)
        sums = tl.dot(weight.to(values.dtype), values, sums * keep[:, None])
    mean = sums / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(out + rows, mean.to(out.dtype.element_ty), mask=query[:, None] < Q)
