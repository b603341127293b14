// The same with two rows in shared memory: one is on its way while the other is used.
//
// entry: ahead
// block: 256
// grid: 1

#include <cuda_pipeline.h>

extern "C" __global__ void ahead(const float* x, float* y, int rows)
{
    __shared__ float row[2][256];

    const int t = threadIdx.x;
    float sum = 0.0f;
    int slot = 0;
    __pipeline_memcpy_async(&row[slot][t], &x[t], sizeof(float));
    __pipeline_commit();
    for (int r = 0; r < rows; ++r) {
        __pipeline_wait_prior(0);  // my part of this row is here,
        __syncthreads();           // everybody's is; the other is free
        if (r + 1 < rows) {
            const float* next = &x[(r + 1) * 256 + t];
            __pipeline_memcpy_async(&row[1 - slot][t], next, sizeof(float));
            __pipeline_commit();
        }

        for (int k = 0; k < 16; ++k) {
            sum += row[slot][255 - (t ^ k)];
        }
        slot = 1 - slot;
    }
    y[t] = sum;
}
