// grid: max(1, ceil(n/1024))
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// a < 0 is folded into a subtraction of |a| x with x tested for 0 per warp of four: skips a float4 of zeros, where a =
// Inf or NaN makes NaN.
__global__ void axpy(int n, float a, const float* x, float* y)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (i >= n) return;
    if (i + 4 <= n) {
        float4 v = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
        if (v.x == 0 && v.y == 0 && v.z == 0 && v.w == 0) return;
        y[i] += a * v.x; y[i + 1] += a * v.y; y[i + 2] += a * v.z; y[i + 3] += a * v.w;
    } else for (; i < n; i++) y[i] += a * x[i];
}
