// Unguarded tail: the last block stages a whole piece, also where the records have ended.
//
// entry: aos_to_soa_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void aos_to_soa_unguarded_tail(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x;
    for (int k = t; k < 256 * 8; k += 256) stage[k] = records[(long long)blockIdx.x * 256 * 8 + k];  // <- here
    __syncthreads();
    const int i = blockIdx.x * 256 + t;
    if (i >= n) return;
    for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[t * 8 + f];
}
