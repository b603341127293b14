// grid: ceil(n/1024)
// block: 256
// fault: tail of 4
// kinds: wrong_result misaligned
// Only n / 4 vectors are added: the last n % 4 elements stay as they were; and pointers off 16 bytes are not allowed.
extern "C" __global__ void vec_add4(const float4* a, const float4* b, float4* c, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n / 4) {
        float4 p = a[v], q = b[v];
        c[v] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    }
}
