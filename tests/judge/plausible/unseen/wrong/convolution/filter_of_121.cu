// grid: ceil(W/32) ceil(H/8) min(P,65535)
// block: 32 8
// fault: fixed-size cache
// kinds: out_of_bounds
// The filter is kept in 11 by 11 floats of shared memory, the largest of the examples (R = 5).
#define MAX_R 5
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float w[(2 * MAX_R + 1) * (2 * MAX_R + 1)];
    const int D = 2 * R + 1;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < D * D; k += 256) w[k] = weights[k];
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    for (int p = blockIdx.z; p < P; p += gridDim.z) {
        const float* plane = image + (size_t)p * H * W;
        float sum = 0;
        for (int j = 0; j < D; ++j)
            for (int i = 0; i < D; ++i) {
                const int yy = y + j - R, xx = x + i - R;
                if (yy >= 0 && yy < H && xx >= 0 && xx < W) sum += w[j * D + i] * plane[(size_t)yy * W + xx];
            }
        filtered[(size_t)p * H * W + (size_t)y * W + x] = sum;
    }
}
