// grid: ceil(n/256)
// block: 256
// fault: alignment
// kinds: misaligned
// Above 65,536 elements float4 is used whatever the addresses are ("large arrays come from cudaMalloc").

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (n > 65536) {
        if (i < n / 4) {
            float4 p = ((const float4*)a)[i], q = ((const float4*)b)[i];
            ((float4*)c)[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
        }
        if (i < n % 4) c[n / 4 * 4 + i] = a[n / 4 * 4 + i] + b[n / 4 * 4 + i];
    } else if (i < n) c[i] = a[i] + b[i];
}
