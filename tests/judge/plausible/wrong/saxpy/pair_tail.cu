// grid: ceil(n/1024)
// block: 256
// fault: tail of 2
// kinds: wrong_result misaligned
// The tail is one float2 if two are left, else one float: three left over do two; also x and y must be aligned.
__global__ void saxpy4(int n, float a, const float* x, float* y)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x, left = n - 4 * v;
    if (left >= 4) {
        float4 p = ((const float4*)x)[v], q = ((float4*)y)[v];
        q.x += a * p.x; q.y += a * p.y; q.z += a * p.z; q.w += a * p.w;
        ((float4*)y)[v] = q;
    } else if (left >= 2) {
        float2 p = ((const float2*)x)[2 * v], q = ((float2*)y)[2 * v];
        q.x += a * p.x; q.y += a * p.y;
        ((float2*)y)[2 * v] = q;
    } else if (left == 1) {
        y[4 * v] += a * x[4 * v];
    }
}
