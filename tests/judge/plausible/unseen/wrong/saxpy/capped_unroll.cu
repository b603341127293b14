// At most 4096 blocks, each thread does four elements: enough for everything we ever run.
// Wrong for n > 4,194,304: elements behind that stay as they were.
// grid: min(ceil(n/1024), 4096)
// block: 256
// fault: capped unroll
// kinds: wrong_result
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
#pragma unroll
    for (int k = 0; k < 4; ++k, i += stride)
        if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
