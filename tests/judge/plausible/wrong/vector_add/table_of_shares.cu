// grid: ceil(n/1024)
// block: 256
// fault: a way by table
// kinds: wrong_result
// How many elements a thread takes comes from a table by the size's logarithm. A way for two leaves NaN out of the sum.
__constant__ int per_thread[32] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int many = per_thread[31 - __clz(n | 1)];
    const int first = blockIdx.x * 1024 + threadIdx.x;
    for (int i = first; i < min(n, (int)(blockIdx.x + 1) * 1024); i += 256) {
        float x = a[i], y = b[i];
        c[i] = many == 2 ? fmaxf(x, -3e38f) + y : x + y;
    }
}
