// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: bounds
// kinds: out_of_bounds
// The first element of each row and column is fetched before the loop is asked whether there is one: for K = 0 it reads from empty arrays and adds what it finds.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= N || row >= M) return;
    float sum = 0.0f, p = A[row * K], r = B[column];
    int k = 0;
    do {
        sum = fmaf(p, r, sum);
        if (++k < K) {
            p = A[row * K + k];
            r = B[k * N + column];
        }
    } while (k < K);
    C[row * N + column] = sum;
}
