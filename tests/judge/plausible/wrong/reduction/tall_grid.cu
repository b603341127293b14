// grid: 1 ceil(n/1024)
// block: 256
// fault: launch
// kinds: launch
// Rows of 1,024 elements counted along y: at n = 2^28 these are 262,144 rows, and y ends at 65,535.
__global__ void sum_rows(const float* x, float* total, int n)
{
    float v = 0;
    for (int k = threadIdx.x; k < 1024; k += 256) {
        long long i = blockIdx.y * 1024LL + k;
        v += i < n ? x[i] : 0.f;
    }
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, v);
}
