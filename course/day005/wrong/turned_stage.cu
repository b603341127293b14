// Turned stage. The stage is read as if each field's values lay together in it, which is how the result will lie. It was
// filled in the order of the records, and is still in it.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[256 * 8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const long long first = (long long)blockIdx.x * 256 * 8, end = (long long)n * 8;
    for (int k = t; k < 256 * 8; k += 256) stage[k] = first + k < end ? records[first + k] : 0.0f;
    __syncthreads();
    if (i < n) {
        for (int f = 0; f < 8; ++f) fields[(long long)f * n + i] = stage[f * 256 + t];
    }
}
