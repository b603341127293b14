// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: non-square
// kinds: wrong_result out_of_bounds
// The text-book kernel with one width: B is read with a row length of K, right where K == N.
__global__ void MatMul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int width = K;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float p = 0;
    for (int k = 0; k < width; ++k) p += A[row * width + k] * B[k * width + col];
    C[row * N + col] = p;
}
