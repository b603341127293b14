// Every lane adds: the sum of a warp is handed to the total by all of its lanes instead of lane 0.
//
// entry: sum_every_lane_adds
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void sum_every_lane_adds(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    atomicAdd(total, sum);
}
