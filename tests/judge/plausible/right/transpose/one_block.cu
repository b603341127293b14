// grid: 1
// block: 33 9
// One block of 33 x 9 threads walks over the whole matrix.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    for (int r = threadIdx.y; r < M; r += 9)
        for (int c = threadIdx.x; c < N; c += 33) out[(size_t)c * M + r] = in[(size_t)r * N + c];
}
