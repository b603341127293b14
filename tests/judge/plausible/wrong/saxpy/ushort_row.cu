// grid: ceil(n/256)
// block: 256
// fault: index type
// kinds: wrong_result race unrepeatable
// unsigned short index: element 65,536 is taken for element 0, which is updated twice; the ones behind never.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const unsigned short i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
