// As ahead.cu, but a round of the loop does two rows: which slot is meant stands in the code, and is not worked out.
//
// entry: by_two
// block: 256
// grid: 1

#include <cuda_pipeline.h>

extern "C" __global__ void by_two(const float* x, float* y, int rows)
{
    __shared__ float row[2][256];

    const int t = threadIdx.x;
    float sum = 0.0f;
    auto fetch = [&](int slot, int r) {
        if (r >= rows) return;
        const float* from = &x[r * 256 + t];
        __pipeline_memcpy_async(&row[slot][t], from, sizeof(float));
        __pipeline_commit();
    };
    auto use = [&](int slot) {
        for (int k = 0; k < 16; ++k) {
            sum += row[slot][255 - (t ^ k)];
        }
    };

    fetch(0, 0);
    for (int r = 0; r < rows; r += 2) {
        __pipeline_wait_prior(0);
        __syncthreads();
        fetch(1, r + 1);
        use(0);

        if (r + 1 == rows) break;
        __pipeline_wait_prior(0);
        __syncthreads();
        fetch(0, r + 2);
        use(1);
    }
    y[t] = sum;
}
