// grid: parts
// block: 256
// Two arrays in turn, one barrier each; between two uses of one array lies the other's barrier
__device__ float sum(float v, float* s)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < 8; w++) v += s[w];
    return v;
}
__global__ void rms_norm_backward(const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts, float eps)
{
    __shared__ float s1[8], s2[8];
    int p = blockIdx.x;
    for (int c = threadIdx.x; c < columns; c += 256) partial[(size_t)p * columns + c] = 0;
    for (int row = p; row < rows; row += parts) {
        size_t at = (size_t)row * columns;
        float a = 0, b = 0;
        for (int c = threadIdx.x; c < columns; c += 256) a += x[at + c] * x[at + c];
        float r = 1.f / sqrtf(sum(a, s1) / columns + eps);
        for (int c = threadIdx.x; c < columns; c += 256) b += dy[at + c] * weight[c] * (x[at + c] * r);
        float g = sum(b, s2) / columns;
        for (int c = threadIdx.x; c < columns; c += 256) {
            float xr = x[at + c] * r;
            dx[at + c] = r * (dy[at + c] * weight[c] - xr * g);
            partial[(size_t)p * columns + c] += dy[at + c] * xr;
        }
    }
}
