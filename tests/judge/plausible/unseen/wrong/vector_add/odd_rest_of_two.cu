// grid: ceil(n/1024)
// block: 256
// fault: tail of a vector width
// kinds: wrong_result uninitialised_read
// The rest behind the last whole group of four is written for one and for three elements; n = 4 k + 2 leaves two out.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int group = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = 4 * group;
    if (i + 3 < n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) c[i + j] = a[i + j] + b[i + j];
        return;
    }
    if (i < n) {
        switch (n - i) {
            case 3:
                c[i + 2] = a[i + 2] + b[i + 2];
                c[i + 1] = a[i + 1] + b[i + 1];
                c[i] = a[i] + b[i];
                break;
            case 1: c[i] = a[i] + b[i]; break;
        }
    }
}
