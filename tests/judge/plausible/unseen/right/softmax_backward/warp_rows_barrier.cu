// Four warps of a block take rows of their own from a queue in shared memory; nothing but warps meets.
// grid: min(max(1, ceil(rows/8)), 4*SMS)
// block: 128
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ int next;
    const int lane = threadIdx.x % 32;
    const long long per = ((long long)rows + gridDim.x - 1) / gridDim.x, begin = per * blockIdx.x, end = min((long long)rows, begin + per);
    if (threadIdx.x == 0) next = 0;
    __syncthreads();
    for (;;) {
        int k = 0;
        if (lane == 0) k = atomicAdd(&next, 1);
        k = __shfl_sync(~0u, k, 0);
        const long long row = begin + k;
        if (row >= end) return;
        const float *a = y + row * columns, *b = dy + row * columns;
        float s = 0.0f;
        for (int i = lane; i < columns; i += 32) s = fmaf(a[i], b[i], s);
        for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
        for (int i = lane; i < columns; i += 32) dx[row * columns + i] = a[i] * (b[i] - s);
    }
}
