// grid: ceil(n/256)
// block: 256
// needs: 8.0
// fault: what PTX leaves open
// kinds: input_changed out_of_bounds
// discard.global.L2 on the input lines after use ('streaming'): it destroys the data of a and b (and of
// neighbours in the line); inputs may not change.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    c[i] = a[i] + b[i];
    if ((((size_t)(a + i)) & 127) == 0)
        asm volatile("discard.global.L2 [%0], 128;" :: "l"(a + i) : "memory");
}
