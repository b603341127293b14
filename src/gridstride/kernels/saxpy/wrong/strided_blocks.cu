// Strided blocks: blocks start 250 elements apart but hold 256 threads, so six elements are updated twice.
//
// entry: saxpy_strided_blocks
// block: 256
// grid: ceil(n/250)
// expect: wrong_result

extern "C" __global__ void saxpy_strided_blocks(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * 250 + threadIdx.x;
    if (i < n) atomicAdd(&y[i], a * x[i]);
}
