// grid: ceil(N/32) ceil(M/32)
// block: 32 32
// needs: 9.0
// fault: race
// kinds: race
// mbarrier.arrive.relaxed and test_wait.relaxed as the barrier between writing and reading a tile: they order
// no memory.
__global__ void turn(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    __shared__ unsigned long long bar;
    unsigned mb = (unsigned)__cvta_generic_to_shared(&bar);
    int t = threadIdx.y * 32 + threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1024;" :: "r"(mb) : "memory");
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < N && y < M) tile[threadIdx.y][threadIdx.x] = in[(size_t)y * N + x];
    asm volatile("{ .reg .b64 s; .reg .pred p;\n mbarrier.arrive.relaxed.cta.shared::cta.b64 s, [%0];\n L: mbarrier.test_wait.relaxed.cta.shared::cta.b64 p, [%0], s; @!p bra L; }" :: "r"(mb) : "memory");
    int r = blockIdx.x * 32 + threadIdx.y, c = blockIdx.y * 32 + threadIdx.x;
    if (r < N && c < M) out[(size_t)r * M + c] = tile[threadIdx.x][threadIdx.y];
}
