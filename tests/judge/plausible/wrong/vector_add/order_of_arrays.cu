// grid: ceil(n/256)
// block: 256
// fault: order of arrays in memory
// kinds: wrong_result out_of_bounds
// Goes backward where the result lies before the input, as memmove does, and counts the last element twice there.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    if (c < a) {
        const int from = n - 1 - i;
        c[from] = a[from] + b[from > 0 ? from : 1 % n];
    } else {
        c[i] = a[i] + b[i];
    }
}
