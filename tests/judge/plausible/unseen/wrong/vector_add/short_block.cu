// grid: ceil(n/32)
// block: 32
// fault: wrong formula
// kinds: wrong_result
// The number of the block goes through unsigned short: from block 65536 on the first elements are done again, elements from 2097152 on never (n > 2097152).

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const unsigned short block = blockIdx.x;
    const int i = block * 32 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
