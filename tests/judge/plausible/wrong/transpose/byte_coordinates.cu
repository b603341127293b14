// grid: ceil(M*N/256)
// block: 256
// fault: index type
// kinds: wrong_result race uninitialised_read
// Row and column are kept in a uchar2 to save registers: right up to 256 by 256.
__global__ void transpose_packed(const float* in, float* out, int M, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N) return;
    uchar2 at = make_uchar2(i / N, i % N);
    out[at.y * M + at.x] = in[at.x * N + at.y];
}
