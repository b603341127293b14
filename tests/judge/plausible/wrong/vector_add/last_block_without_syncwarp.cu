// grid: max(1,ceil(n/256))
// block: 256
// fault: missing syncwarp
// kinds: race
// All blocks hand their elements round in shared memory; the block that comes last leaves out the __syncwarp().
__device__ unsigned int finished;
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile[256];
    __shared__ bool last;
    const int t = threadIdx.x;
    const long long i = blockIdx.x * 256LL + t;
    if (t == 0) {
        const unsigned int before = atomicAdd(&finished, 1u);
        last = before == gridDim.x - 1;
        if (last) atomicExch(&finished, 0u);
    }
    __syncthreads();
    const long long j = blockIdx.x * 256LL + (t ^ 1);
    tile[t ^ 1] = j < n ? a[j] + b[j] : 0.0f;
    if (!last) __syncwarp();
    if (i < n) c[i] = tile[t];
}
