// grid: 4*SMS
// block: 256
// fault: sizes
// kinds: wrong_result
// blockIdx.x * n wraps in 32 bits when cutting into chunks: at the timed size, later blocks begin anew.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    unsigned total = M * N;
    unsigned b = blockIdx.x * total / gridDim.x, e = (blockIdx.x + 1) * total / gridDim.x;
    for (unsigned i = b + threadIdx.x; i < e; i += 256) { unsigned r = i / N, c = i % N; out[(size_t)c * M + r] = in[i]; }
}
