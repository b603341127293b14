// A loop whose length is in the data: the number of halvings that take x[i] below 1.
//
// entry: steps
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void steps(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    float v = x[i];
    int count = 0;
    while (v >= 1.0f) {
        v *= 0.5f;
        ++count;
    }
    y[i] = count;
}
