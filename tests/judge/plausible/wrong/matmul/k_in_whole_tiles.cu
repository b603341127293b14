// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: tail of a tile
// kinds: out_of_bounds wrong_result
// Guards rows and columns, but not k: where K % 16 is not 0 the last tile takes what comes behind.
#define T 16
__global__ void matMulKernel(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[T][T], Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float value = 0;
    for (int p = 0; p < (K + T - 1) / T; ++p) {
        As[threadIdx.y][threadIdx.x] = row < M ? A[row * K + p * T + threadIdx.x] : 0;
        Bs[threadIdx.y][threadIdx.x] = col < N ? B[(p * T + threadIdx.y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; ++k) value += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = value;
}
