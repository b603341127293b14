// Half a warp: the shuffles start at an offset of 8, so lanes 16 to 31 are never added.
//
// entry: sum_half_a_warp
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void sum_half_a_warp(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
