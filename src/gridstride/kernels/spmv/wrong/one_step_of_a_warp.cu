// One step of a warp: a row has a warp, and what is behind its 32nd entry is not read.
//
// entry: spmv_one_step_of_a_warp
// block: 256
// grid: ceil(rows/8)
// expect: wrong_result

extern "C" __global__ void spmv_one_step_of_a_warp(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) return;
    const int k = offsets[row] + threadIdx.x % 32;
    float sum = k < offsets[row + 1] ? values[k] * x[indices[k]] : 0.0f;
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (threadIdx.x % 32 == 0) y[row] = sum;
}
