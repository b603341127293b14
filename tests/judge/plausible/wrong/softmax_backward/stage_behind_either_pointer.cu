// fault: the copy of a later row begins while slower warps still read, by a pointer, the row that it overwrites
// kinds: race unwaited_copy
// grid: 2
// block: 64
#include <cuda_pipeline.h>
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float stage[2][768], part[2][2];
    const int t = threadIdx.x;
    const bool fits = columns <= 768;
    const auto load = [&](long long r, int to) {
        if (fits && r < rows)
            for (int i = t; i < columns; i += 64) __pipeline_memcpy_async(&stage[to][i], &y[r * columns + i], 4);
        __pipeline_commit();
    };
    load(blockIdx.x, 0);
    load(blockIdx.x + 2, 1);
    int now = 0;
    for (long long r = blockIdx.x; r < rows; r += 2, now ^= 1) {
        __pipeline_wait_prior(1);
        __syncthreads();
        const float* a = fits ? stage[now] : y + r * columns;
        const float* d = dy + r * columns;
        float s = 0;
        for (int i = t; i < columns; i += 64) s += a[i] * d[i];
        for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
        if (t % 32 == 0) part[now][t / 32] = s;
        __syncthreads();
        s = part[now][0] + part[now][1];
        for (int i = columns - 1 - t; i >= 0; i -= 64) dx[r * columns + i] = a[i] * (d[i] - s);
        load(r + 4, now);
    }
}
