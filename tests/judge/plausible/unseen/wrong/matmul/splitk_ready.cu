// grid: ceil(N/16) ceil(M/16) 2
// block: 16 16
// fault: first arrival overwrites
// kinds: wrong_result unrepeatable
// Two blocks share each tile's K: the first to arrive stores, the second adds, and who is first is read from a
// counter with a look and a step, not in one: both may find 0.
__device__ int arrivals[1 << 20];
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][17], b[16][17];
    __shared__ int first;
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    int half = (K / 2 + 15) / 16 * 16, begin = blockIdx.z ? half : 0, end = blockIdx.z ? K : min(half, K);
    float sum = 0;
    for (int k0 = begin; k0 < end; k0 += 16) {
        a[ty][tx] = i < M && k0 + tx < end ? A[(size_t)i * K + k0 + tx] : 0;
        b[ty][tx] = k0 + ty < end && j < N ? B[(size_t)(k0 + ty) * N + j] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    int* counter = arrivals + blockIdx.y * gridDim.x + blockIdx.x;
    if (tx == 0 && ty == 0) first = atomicAdd(counter, 0) == 0;
    __syncthreads();
    if (i < M && j < N) {
        if (first) atomicExch(&C[(size_t)i * N + j], sum);
        else atomicAdd(&C[(size_t)i * N + j], sum);
    }
    __threadfence();
    __syncthreads();
    if (tx == 0 && ty == 0) atomicInc(reinterpret_cast<unsigned*>(counter), 1);
}
