// Counts by adding 1, in half precision and in single precision, until a sum no longer changes or is 5,000.
//
// entry: counting
// block: 1
// grid: 1

#include <cuda_fp16.h>

extern "C" __global__ void counting(float* last)
{
    __half half_sum = __float2half(0.0f);
    float float_sum = 0.0f;
    for (int i = 0; i < 5000; ++i) {
        half_sum = __hadd(half_sum, __float2half(1.0f));
        float_sum = float_sum + 1.0f;
    }
    last[0] = __half2float(half_sum);
    last[1] = float_sum;
}
