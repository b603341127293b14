// Works in an input and puts back what was there: in the end nothing of it is left to see.
//
// block: 256
// grid: ceil(n/256)
// expect: input_changed

__global__ void add(float* a, float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float kept = a[i];
        a[i] = kept + b[i];
        c[i] = a[i];
        a[i] = kept; // <- here
    }
}
