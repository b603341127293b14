// grid: 32
// block: 256
// fault: sizes
// kinds: wrong_result
// Above 32,768 elements float4; the tail is `if (tail & 1) … else if (tail & 2) …`: of three left over only one is
// added.

__global__ void reduction(const float* x, float* total, int n) {
    float sum = 0;
    int i0 = blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256;
    if (n > 32768 && ((size_t)x & 15) == 0) {
        const float4* v = (const float4*)x;
        for (int i = i0; i < n / 4; i += step) { float4 q = v[i]; sum += (q.x + q.y) + (q.z + q.w); }
        if (i0 == 0) {
            int tail = n & 3, base = n & ~3;
            if (tail & 1) sum += x[base];
            else if (tail & 2) sum += x[base] + x[base + 1];
        }
    } else
        for (int i = i0; i < n; i += step) sum += x[i];
    for (int k = 16; k; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
