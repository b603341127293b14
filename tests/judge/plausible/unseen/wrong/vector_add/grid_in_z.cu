// grid: 1 1 ceil(n/512)
// block: 512
// fault: what hardware refuses
// kinds: launch
// Blocks are counted in z, of which there are 65,535 at most: n = 67108864 needs 131,072.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.z * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __ldg(a + i) + __ldg(b + i);
}
