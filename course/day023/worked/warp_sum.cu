// Each warp adds up 32 numbers in registers; lane 0 adds the warp's sum to the total.
//
// entry: warp_sum
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void warp_sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
