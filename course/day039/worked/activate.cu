// entry: activate
// block: 256
// grid: ceil(n/256)

__device__ float gelu(float v)
{
    const float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(u));
}

extern "C" __global__ void activate(const float* Z, float* Y, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) Y[i] = gelu(Z[i]);
}
