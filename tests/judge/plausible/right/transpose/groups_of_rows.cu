// grid: ceil(N/32)*ceil(M/32)
// block: 32 8
// Blocks are taken in groups of rows, so that what they read and write stays in L2.
__constant__ unsigned char leftover[5] = {0, 1, 3, 7, 15};

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int gx = (N + 31) / 32, gy = (M + 31) / 32;
    int g = 1, lg = 0;
    while (g * g < gx && g < 16) { g <<= 1; lg++; }
    const int pid = blockIdx.x;
    const int group = pid / (g * gx), first = group * g, inside = pid - group * g * gx;
    const int rows = first + g <= gy ? g : gy & leftover[lg];
    const int by = first + inside % rows, bx = inside / rows;
    int x = bx * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) {
        const int y = by * 32 + j;
        if (x < N && y < M) tile[j][threadIdx.x] = in[(size_t)y * N + x];
    }
    __syncthreads();
    x = by * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) {
        const int y = bx * 32 + j;
        if (x < M && y < N) out[(size_t)y * M + x] = tile[threadIdx.x][j];
    }
}
