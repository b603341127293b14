// 02 shared stage: the block copies its piece of memory into shared memory as it lies, then picks the fields there.
//
// Moves: sectors per load request, from 32 to 4. The stride is still there, in shared memory: eight lanes meet in
//   each of four banks.
// Mapping: thread t of block b -> floats b * 2048 + t + 256 k on the way in; record b * 256 + t on the way out.
//
// entry: aos_to_soa_shared_stage
// block: 256
// grid: ceil(n/256)

constexpr int FIELDS = 8;
constexpr int THREADS = 256;  // and records of a block

extern "C" __global__ void __launch_bounds__(THREADS)
aos_to_soa_shared_stage(const float* records, float* fields, int n)
{
    __shared__ float stage[THREADS * FIELDS];

    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * THREADS * FIELDS;
    const long long end = (long long)n * FIELDS;
    for (int k = t; k < THREADS * FIELDS; k += THREADS) {
        if (first + k < end) stage[k] = records[first + k];
    }
    __syncthreads();

    const int i = blockIdx.x * THREADS + t;
    if (i >= n) return;
    for (int f = 0; f < FIELDS; ++f) fields[(long long)f * n + i] = stage[t * FIELDS + f];
}
