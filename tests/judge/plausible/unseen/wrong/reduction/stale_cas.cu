// grid: ceil(n/1024)
// block: 256
// fault: stale CAS value
// kinds: wrong_result unrepeatable
// The retry of the compare-and-swap takes the value seen but stores the sum made from the first one:
// another block's addition in between is lost.
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[8];
    float v = 0;
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
        if (i < n) v += x[i];
    }
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += s[k];
        unsigned* address = (unsigned*)total;
        unsigned assumed = *(volatile unsigned*)address;
        unsigned desired = __float_as_uint(__uint_as_float(assumed) + sum);
        while (true) {
            unsigned seen = atomicCAS(address, assumed, desired);
            if (seen == assumed) break;
            assumed = seen;
        }
    }
}
