// fault: the head up to c's 16-byte boundary is not cut to n: n = 1 with c 4 or 8 bytes past: c[1] (and c[2]) written
// kinds: out_of_bounds
// grid: ceil(n/1024)+1
// block: 256
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int head = ((16 - (int)((size_t)c & 15)) & 15) / 4, quads = (n - head) / 4;
    if (i < head) c[i] = a[i] + b[i];
    for (int q = i; q < quads; q += gridDim.x * blockDim.x) {
        int k = head + 4 * q;
        *(float4*)(c + k) = make_float4(a[k] + b[k], a[k + 1] + b[k + 1], a[k + 2] + b[k + 2], a[k + 3] + b[k + 3]);
    }
    int done = head + 4 * quads;
    if (done + i < n) c[done + i] = a[done + i] + b[done + i];
}
