// grid: ceil(W/28) ceil(H/16)
// block: 32 4
//
// Columns in registers, moved down row by row as a ring of five; the neighbours' come by shuffles that the whole warp takes part in.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int lane = threadIdx.x, x = blockIdx.x * 28 + lane - 2, first = blockIdx.y * 16 + threadIdx.y * 4;
    const bool mine = x >= 0 && x < W;
    float ring[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int v = first + k - 2;
        ring[k] = mine && v >= 0 && v < H ? image[(size_t)v * W + x] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int y = first + k;
        const float column = ring[k] + ring[k + 1] + ring[k + 2] + ring[k + 3] + ring[k + 4];
        float sum = column;
        sum += __shfl_up_sync(~0u, column, 1);
        sum += __shfl_up_sync(~0u, column, 2);
        sum += __shfl_down_sync(~0u, column, 1);
        sum += __shfl_down_sync(~0u, column, 2);
        if (!mine || y >= H || lane < 2 || lane >= 30) continue;
        const int wide = min(x + 2, W - 1) - max(x - 2, 0) + 1, high = min(y + 2, H - 1) - max(y - 2, 0) + 1;
        blurred[(size_t)y * W + x] = sum / (wide * high);
    }
}
