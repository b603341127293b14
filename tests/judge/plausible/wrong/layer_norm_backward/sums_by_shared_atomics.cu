// grid: ceil(columns/32) parts
// block: 32 8
// fault: order
// kinds: unrepeatable
// Warps add to a column's sum in the order in which they come: it is not the same on every run.
__global__ void layer_norm_backward(const float* x, const float* weight, const float* dy, const float* mean, const float* rstd, float* dx, float* dweight, float* dbias, int rows, int columns, int parts)
{
    __shared__ float sw[32], sb[32];
    int l = threadIdx.x, w = threadIdx.y, c = blockIdx.x * 32 + l, part = blockIdx.y;
    if (w == 0) sw[l] = sb[l] = 0;
    __syncthreads();
    for (long long row = part + (long long)w * parts; row < rows; row += 8ll * parts) {
        float m = mean[row], q = rstd[row], a = 0, b = 0; const float *X = x + row * columns, *D = dy + row * columns;
        for (int k = l; k < columns; k += 32) { float h = (X[k] - m) * q, g = D[k] * weight[k]; a += g; b += g * h; }
        for (int o = 16; o; o >>= 1) { a += __shfl_xor_sync(~0u, a, o); b += __shfl_xor_sync(~0u, b, o); }
        a /= columns; b /= columns;
        if (c < columns) { float h = (X[c] - m) * q, d = D[c]; dx[row * columns + c] = q * (d * weight[c] - a - h * b); atomicAdd(&sw[l], d * h); atomicAdd(&sb[l], d); }
    }
    __syncthreads();
    if (w == 0 && c < columns) { dweight[(long long)part * columns + c] = sw[l]; dbias[(long long)part * columns + c] = sb[l]; }
}
