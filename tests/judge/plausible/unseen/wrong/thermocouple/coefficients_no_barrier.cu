// grid: ceil(n/256)
// block: 256
// fault: missing barrier
// kinds: race
// Ten threads put the coefficients into shared memory, and nobody waits for them.
__constant__ float given[10] = {0.0f, 2.508355e1f, 7.860106e-2f, -2.503131e-1f, 8.315270e-2f, -1.228034e-2f, 9.804036e-4f, -4.413030e-5f, 1.057734e-6f, -1.052755e-8f};

__global__ void thermocouple(const float* mv, float* celsius, int n)
{
    __shared__ float c[10];
    if (threadIdx.x < 10) c[threadIdx.x] = given[threadIdx.x];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const float v = mv[i];
    float r = c[9];
    for (int k = 8; k >= 0; --k) r = r * v + c[k];
    celsius[i] = r;
}
