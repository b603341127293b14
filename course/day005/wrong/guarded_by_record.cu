// Guarded by record. The guard asks whether the thread's own record is there, and then loads floats of other records: in
// the last block too many of some threads and none of others. A guard belongs to the address that it guards.
//
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const long long first = (long long)blockIdx.x * 256 * 8;
    if (i < n) {
        for (int k = t; k < 256 * 8; k += 256) stage[k] = records[first + k];  // <- here
    }
    __syncthreads();
    if (i < n) {
        for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[t * 8 + f];
    }
}
