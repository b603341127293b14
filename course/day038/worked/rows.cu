// entry: rows
// block: 128
// grid: ceil(n/128)

extern "C" __global__ void rows(
    const float* w, const float* x, float* y, int n, int K)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float weight = w[i * K + k];
        sum += weight * x[k];
    }
    y[i] = sum;
}
