// Array of structures to structure of arrays: fields[f * n + i] = records[i * 8 + f], for n records of eight floats.
// An array may begin at any float, so that a load of 8 or 16 bytes (float2, float4) would not be aligned: read floats.
//
// The launch, as threads in each block and blocks in the grid, worked out from n and rounded up:
//
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;  // and records of a block
constexpr int FIELDS = 8;

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[THREADS * FIELDS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;                             // this thread's record, if it is below n
    const long long first = (long long)blockIdx.x * THREADS * FIELDS;   // the block's first float
    const long long end = (long long)n * FIELDS;                        // no float lies here or beyond

    // 1. Copy the block's floats into `stage` as they lie: lane beside lane, float beside float.
    for (int k = t; k < THREADS * FIELDS; k += THREADS) {
        if (first + k < end) stage[k] = records[first + k];
    }

    // 2. What must happen before a thread may read what another has put there?

    // 3. Take record t out of `stage` and write its eight fields.
}
