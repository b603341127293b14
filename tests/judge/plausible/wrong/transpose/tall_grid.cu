// grid: 1 ceil(M*N/1024)
// block: 1024
// fault: launch
// kinds: launch
// Flattened, 1,024 elements per block, along y: 8192 x 8192 needs 65,536 rows of blocks, one too many.
__global__ void transpose_flat(const float* in, float* out, int M, int N)
{
    size_t i = (size_t)blockIdx.y * 1024 + threadIdx.x;
    if (i < (size_t)M * N) out[i % N * M + i / N] = in[i];
}
