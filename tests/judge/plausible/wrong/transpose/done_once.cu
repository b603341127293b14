// grid: ceil(M*N/256)
// block: 256
// fault: device variable
// kinds: wrong_result race
// The height of the output's columns is kept from the first launch: wrong for the next matrix of another height.
__device__ int height;
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int old = atomicCAS(&height, 0, M), rows = old ? old : M;
    if (i < M * N) {
        size_t to = (size_t)(i % N) * rows + i / N;
        if (to < (size_t)M * N) out[to] = in[i];
    }
}
