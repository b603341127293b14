// Half a warp. The tree in shared memory began at half of the block, and a loop that begins
// at 8 looks like the same idea. The first exchange must reach over 16 lanes, or lanes 16 to 31 are never added.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    for (int offset = 8; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}
