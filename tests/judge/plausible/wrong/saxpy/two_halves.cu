// grid: ceil(n/512)
// block: 256
// fault: odd sizes
// kinds: race wrong_result unrepeatable
// Thread i does elements i and i + n / 2 for i < (n + 1) / 2: with an odd n the middle is updated twice.
__global__ void saxpy_halves(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int half = (n + 1) / 2;
    if (i < half) {
        y[i] = a * x[i] + y[i];
        int j = i + n / 2;
        y[j] = a * x[j] + y[j];
    }
}
