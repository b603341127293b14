// grid: ceil(N/32) M 4
// block: 32
// fault: block order
// kinds: uninitialised_read race wrong_result unrepeatable
// K in four parts that add to C by atomics; the first part sets C to 0, and nobody makes it come first.
__global__ void split_k(const float* A, const float* B, float* C, int M, int N, int K)
{
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y, part = (K + 3) / 4;
    if (j >= N) return;
    if (blockIdx.z == 0) C[(size_t)i * N + j] = 0.0f;
    __threadfence();
    float s = 0;
    for (int k = blockIdx.z * part; k < min(K, (int)(blockIdx.z + 1) * part); ++k) s += A[(size_t)i * K + k] * B[(size_t)k * N + j];
    atomicAdd(&C[(size_t)i * N + j], s);
}
