// grid: ceil(n/1024)
// block: 256
// fault: alignment
// kinds: misaligned
// x comes through the read-only cache as float4 without a look at its address; y is done by scalars.
__global__ void saxpy_ldg(int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    for (int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += 4 * gridDim.x * blockDim.x) {
        float v[4] = {};
        if (i + 4 <= n) {
            float4 q = __ldg(reinterpret_cast<const float4*>(x + i));
            v[0] = q.x; v[1] = q.y; v[2] = q.z; v[3] = q.w;
        } else {
            for (int k = 0; i + k < n; ++k) v[k] = __ldg(x + i + k);
        }
        for (int k = 0; k < 4 && i + k < n; ++k) y[i + k] += a * v[k];
    }
}
