// grid: ceil(n/128)
// block: 128
// fault: denormals
// kinds: wrong_result
// atomicAdd on floats in global memory flushes denormals: y below 1.2e-38 turns to 0.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[i], a * x[i]);
}
