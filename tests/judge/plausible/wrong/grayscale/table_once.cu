// grid: ceil(H*W/256)
// block: 256
// fault: block order
// kinds: race wrong_result unrepeatable
// Block 0 fills a table of products that all blocks read: right only for those that run after it.
__device__ unsigned table[3][256];
__global__ void gray_table(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (blockIdx.x == 0) {
        table[0][t] = 77 * t;
        table[1][t] = 150 * t;
        table[2][t] = 29 * t;
    }
    __syncthreads();
    if (i < H * W) gray[i] = (table[0][rgb[3 * i]] + table[1][rgb[3 * i + 1]] + table[2][rgb[3 * i + 2]] + 128) >> 8;
}
