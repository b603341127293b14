// right: Duff's device from the last element down
// grid: ceil(n/2048)
// block: 256
__global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 8, left = min(8, n - i);
    switch (left) {
    case 8: c[i + 7] = a[i + 7] + b[i + 7];
    case 7: c[i + 6] = a[i + 6] + b[i + 6];
    case 6: c[i + 5] = a[i + 5] + b[i + 5];
    case 5: c[i + 4] = a[i + 4] + b[i + 4];
    case 4: c[i + 3] = a[i + 3] + b[i + 3];
    case 3: c[i + 2] = a[i + 2] + b[i + 2];
    case 2: c[i + 1] = a[i + 1] + b[i + 1];
    case 1: c[i] = a[i] + b[i];
    default:;
    }
}
