// Missing barrier: fields are picked before other warps have put them into shared memory.
//
// entry: aos_to_soa_missing_barrier
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void aos_to_soa_missing_barrier(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * 256 * 8, end = (long long)n * 8;
    for (int k = t; k < 256 * 8; k += 256) {
        if (first + k < end) stage[k] = records[first + k];  // <- here
    }
    const int i = blockIdx.x * 256 + t;
    if (i >= n) return;
    for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[t * 8 + f];  // <- here
}
