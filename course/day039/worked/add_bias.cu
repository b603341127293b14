// entry: add_bias
// block: 256
// grid: ceil(M*N/256)

extern "C" __global__ void add_bias(
    const float* Y, const float* b, float* Z, int M, int N)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < M * N) Z[i] = Y[i] + b[i % N];
}
