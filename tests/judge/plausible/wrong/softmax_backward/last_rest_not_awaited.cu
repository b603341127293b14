// fault: rows come in by asynchronous copies of two stages; the wait leaves the newest under way, and the last stage is it
// kinds: race wrong_result unwaited_copy uninitialised_read
// grid: rows
// block: 128
#include <cuda_pipeline.h>
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float a[2][128], b[2][128], part[4];
    const size_t at = (size_t)blockIdx.x * columns;
    const int t = threadIdx.x, steps = (columns + 127) / 128;
    auto bring = [&](int step) {
        if (step < steps && step * 128 + t < columns) {
            __pipeline_memcpy_async(&a[step & 1][t], y + at + step * 128 + t, 4);
            __pipeline_memcpy_async(&b[step & 1][t], dy + at + step * 128 + t, 4);
        }
        if (step < steps) __pipeline_commit();
    };
    float s = 0;
    bring(0);
    for (int step = 0; step < steps; ++step) {
        bring(step + 1);
        __pipeline_wait_prior(1);
        if (step * 128 + t < columns) s += a[step & 1][t] * b[step & 1][t];
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (t % 32 == 0) part[t / 32] = s;
    __syncthreads();
    s = part[0] + part[1] + part[2] + part[3];
    for (int i = t; i < columns; i += 128) dx[at + i] = y[at + i] * (dy[at + i] - s);
}
