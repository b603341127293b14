// grid: ceil(N/16) ceil(M/16) 2
// block: 16 16
// fault: order of blocks
// kinds: race wrong_result unrepeatable
// The first half of K is stored, the second added to it: nothing says that the first comes first.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= M || column >= N) return;
    const int middle = K / 2, from = blockIdx.z ? middle : 0, to = blockIdx.z ? K : middle;
    float sum = 0.0f;
    for (int k = from; k < to; ++k) sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    float* c = C + (size_t)row * N + column;
    if (blockIdx.z == 0)
        *c = sum;
    else
        atomicAdd(c, sum);
}
