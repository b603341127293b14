// A warp fills 2,048 words of shared memory side by side; then lane k reads word k * stride.
//
// entry: strided
// block: 32
// grid: 1

extern "C" __global__ void strided(const float* x, float* y, int stride)
{
    __shared__ float stage[2048];

    const int lane = threadIdx.x;
    for (int k = lane; k < 2048; k += 32) {
        stage[k] = x[k];
    }
    __syncthreads();
    y[lane] = stage[lane * stride];
}
