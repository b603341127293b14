// grid: ceil(H*W/256)
// block: 256
// fault: race
// kinds: race
// The block's 768 bytes go through shared memory, each thread reading what others have loaded, with no __syncthreads between (H W >= 2).

__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    __shared__ unsigned char bytes[768];
    const size_t first = (size_t)blockIdx.x * 256, all = (size_t)H * W;
    const int t = threadIdx.x;
    for (int k = t; k < 768; k += 256)
        if (3 * first + k < 3 * all) bytes[k] = rgb[3 * first + k];
    if (first + t < all) gray[first + t] = (77 * bytes[3 * t] + 150 * bytes[3 * t + 1] + 29 * bytes[3 * t + 2] + 128) >> 8;
}
