// Early return. The guard of every kernel so far, at the top where it has always been: threads without a record leave. Here
// they had floats to load for the others, and a barrier to come to.
//
// block: 256
// grid: ceil(n/256)
// expect: uninitialised_read

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i >= n) return;
    const long long first = (long long)blockIdx.x * 256 * 8, end = (long long)n * 8;
    for (int k = t; k < 256 * 8; k += 256) {
        if (first + k < end) stage[k] = records[first + k];
    }
    __syncthreads();
    for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[t * 8 + f];  // <- here
}
