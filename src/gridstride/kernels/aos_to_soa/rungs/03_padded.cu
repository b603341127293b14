// 03 padded: every record has nine words in shared memory instead of eight.
//
// Moves: bank conflicts, to a few: 9 and 32 have no common divisor, so 32 records begin in 32 different banks.
// Mapping: as in 02; float k of the piece lies at word k + k / 8.
//
// entry: aos_to_soa_padded
// block: 256
// grid: ceil(n/256)

constexpr int FIELDS = 8;
constexpr int THREADS = 256;         // and records of a block
constexpr int WORDS = FIELDS + 1;    // of a record in shared memory

extern "C" __global__ void __launch_bounds__(THREADS) aos_to_soa_padded(const float* records, float* fields, int n)
{
    __shared__ float stage[THREADS * WORDS];

    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * THREADS * FIELDS;
    const long long end = (long long)n * FIELDS;
    for (int k = t; k < THREADS * FIELDS; k += THREADS) {
        if (first + k < end) stage[k + k / FIELDS] = records[first + k];
    }
    __syncthreads();

    const int i = blockIdx.x * THREADS + t;
    if (i >= n) return;
    for (int f = 0; f < FIELDS; ++f) fields[(long long)f * n + i] = stage[t * WORDS + f];
}
