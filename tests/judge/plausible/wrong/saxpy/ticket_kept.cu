// grid: min(n,40)
// block: 64
// fault: device variable
// kinds: wrong_result unrepeatable
// Each warp takes 32 elements at a time from a counter that starts where the last launch left it.
__device__ int cursor = 0;
extern "C" __global__ void saxpy_dynamic(int n, float a, const float* x, float* y)
{
    int lane = threadIdx.x & 31, start = 0;
    do {
        if (lane == 0) start = atomicAdd(&cursor, 32);
        start = __shfl_sync(0xffffffffu, start, 0);
        if (start + lane < n) y[start + lane] += a * x[start + lane];
    } while (start < n);
}
