// grid: 2*SMS
// block: 96
// Grid-stride over the output: stores are in order, reads are not.
__global__ void transpose_gather(const float* in, float* out, int M, int N)
{
    const long long all = (long long)M * N;
    for (long long i = blockIdx.x * 96LL + threadIdx.x; i < all; i += gridDim.x * 96LL) out[i] = in[i % M * N + i / M];
}
