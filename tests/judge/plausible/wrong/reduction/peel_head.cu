// fault: the head up to x's 16-byte boundary is not cut to n: n = 1, x 4 bytes past: x[1], x[2] are read and added
// kinds: out_of_bounds
// grid: min(ceil(n/1024)+1,4*SMS)
// block: 256
__global__ void reduction(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int head = (int)(((16 - (size_t)x) & 15) / 4), quads = (n - head) / 4;
    const float4* v = (const float4*)(x + head);
    float s = 0;
    if (i < head) s += x[i];
    for (int q = i; q < quads; q += gridDim.x * blockDim.x) { float4 u = v[q]; s += u.x + u.y + u.z + u.w; }
    int done = head + 4 * quads;
    if (done + i < n) s += x[done + i];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, s);
}
