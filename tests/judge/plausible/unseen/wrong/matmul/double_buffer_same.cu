// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: race
// kinds: race
// Double buffering whose next tile is stored into the buffer that is being read, since the index is switched before the store rather than after it: a race and wrong tiles where K > 16.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][16], b[2][16][17];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    auto load = [&](int buffer, int k0) {
        a[buffer][ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        b[buffer][ty][tx] = column < N && k0 + ty < K ? B[(k0 + ty) * N + column] : 0.0f;
    };
    float sum = 0.0f;
    int now = 0;
    load(0, 0);
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += 16) {
        const int current = now;
        now ^= 1;
        if (k0 + 16 < K) load(now ^ 1, k0 + 16);
        for (int k = 0; k < 16; ++k) sum = fmaf(a[current][ty][k], b[current][k][tx], sum);
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
