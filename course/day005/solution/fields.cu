// Array of structures to structure of arrays, staged in shared memory: loads and stores of global memory have stride 1.
//
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;  // and records of a block
constexpr int FIELDS = 8;

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[THREADS * FIELDS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    const long long first = (long long)blockIdx.x * THREADS * FIELDS;
    const long long end = (long long)n * FIELDS;

    for (int k = t; k < THREADS * FIELDS; k += THREADS) {
        if (first + k < end) stage[k] = records[first + k];
    }
    __syncthreads();  // outside of every `if`: all threads of the block must come here

    if (i < n) {
        for (int f = 0; f < FIELDS; ++f) fields[(long long)f * n + i] = stage[t * FIELDS + f];
    }
}
