// Each thread writes its own number to its own place.

extern "C" __global__ void number(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}
