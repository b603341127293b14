// fault: the head up to the next 16-byte boundary is not cut to n: n = 1, y 4 bytes past: elements 1 and 2 are written
// kinds: out_of_bounds
// grid: ceil((n+8)/1024)
// block: 256
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (((size_t)x & 15) != ((size_t)y & 15)) {
        for (int k = i; k < n; k += gridDim.x * blockDim.x) y[k] = a * x[k] + y[k];
        return;
    }
    int head = (int)((16 - ((size_t)y & 15)) & 15) / 4;
    int quads = (n - head) / 4;
    if (i < head) y[i] = a * x[i] + y[i];
    if (i < quads) {
        float4 v = ((const float4*)(x + head))[i], w = ((float4*)(y + head))[i];
        w.x += a * v.x; w.y += a * v.y; w.z += a * v.z; w.w += a * v.w;
        ((float4*)(y + head))[i] = w;
    }
    int done = head + 4 * quads;
    if (done + i < n) y[done + i] = a * x[done + i] + y[done + i];
}
