// grid: ceil(rows/4)
// block: 128
// fault: finite floor
// kinds: wrong_result
// The maximum begins at -1e38: a row of finite logits all below it (-3e38) has lse -Inf or NaN
__global__ void cross_entropy(const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes, long long ignore_index)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    if (labels[row] == ignore_index) { if (lane == 0) loss[row] = lse[row] = 0; return; }
    long long label = labels[row];
    const float* r = logits + (size_t)row * classes;
    float m = -1e38f, l = 0;
    for (int c = lane; c < classes; c += 32) m = fmaxf(m, r[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    float base = m;
    for (int c = lane; c < classes; c += 32) l += expf(r[c] - base);
    for (int o = 16; o; o >>= 1) l += __shfl_xor_sync(~0u, l, o);
    if (lane == 0) {
        float e = m == INFINITY ? NAN : base + logf(l);
        lse[row] = e;
        loss[row] = label < 0 || label >= classes ? NAN : e != e ? e : logf(l) + (base - r[label]);
    }
}
