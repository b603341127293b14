// grid: max(1, ceil(n/256))
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// Warps whose x are all zero leave ('nothing to add'): with a = Inf or NaN the product is NaN.
__global__ void axpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    if (__all_sync(~0u, v == 0.0f)) return;
    if (i < n) y[i] = fmaf(a, v, y[i]);
}
