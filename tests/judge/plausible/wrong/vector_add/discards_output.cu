// grid: ceil(n/256)
// block: 256
// needs: 8.0
// fault: what PTX leaves open
// kinds: wrong_result out_of_bounds race
// discard.global.L2 on the lines of c right after they are written ('do not keep them in the cache'): the
// result itself is thrown away.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    __syncwarp();
    if (i < n && (((size_t)(c + i)) & 127) == 0)
        asm volatile("discard.global.L2 [%0], 128;" :: "l"(c + i) : "memory");
}
