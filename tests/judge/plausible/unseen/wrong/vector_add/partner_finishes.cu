// grid: ceil(n/128)
// block: 128
// fault: race within a warp
// kinds: race wrong_result
// Each lane puts its a into c and adds its partner's b to its partner's c, in global memory, with nothing between: any n above 1.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 128 + threadIdx.x, partner = i ^ 1;
    volatile float* sums = c;
    if (i < n) sums[i] = a[i];
    if (partner < n) sums[partner] = sums[partner] + b[partner];
}
