// Every lane. After the shuffles the value looks like "the sum", and so it is added; but each lane has one. Only lane 0's is
// whole, and only one lane may hand it on.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    atomicAdd(total, value);
}
