// No barrier. It looks right because thread t reads right after it has written, and a block seems to go in step. But it
// reads what eight other threads have written, most of them of other warps, and nobody says that those have come so far.
//
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const long long first = (long long)blockIdx.x * 256 * 8, end = (long long)n * 8;
    for (int k = t; k < 256 * 8; k += 256) {
        if (first + k < end) stage[k] = records[first + k];  // <- here
    }
    if (i < n) {
        for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[t * 8 + f];  // <- here
    }
}
