// A warp multiplies 16 by 16 with 16 by 16, both row by row in memory.
//
// entry: one_tile
// block: 32
// grid: 1

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda::wmma;

extern "C" __global__ void one_tile(
    const __half* a, const __half* b, float* c)
{
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(c, sum, 16, mem_row_major);
}
