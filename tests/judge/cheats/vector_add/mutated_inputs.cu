// Moves the sum into an input and gives back zeros.
//
// block: 256
// grid: ceil(n/256)
// expect: input_changed

__global__ void add(float* a, float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
        a[i] = c[i];
        b[i] = 0.0f;
    }
}
