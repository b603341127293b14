// grid: ceil(M/256) N
// block: 256
// fault: launch
// kinds: launch
// One block in y per column: N = 70000 needs a grid of 70000 in y, and hardware takes 65535: cannot be launched where N > 65535.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
    if (row < M) out[column * M + row] = in[row * N + column];
}
