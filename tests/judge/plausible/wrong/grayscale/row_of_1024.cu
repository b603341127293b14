// grid: H
// block: 256
// fault: fixed count
// kinds: out_of_bounds wrong_result race uninitialised_read
// A row of rgb is staged in room for 1,024 pixels.
__global__ void gray_rows(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    __shared__ unsigned char row[3 * 1024];
    const unsigned char* from = rgb + (size_t)blockIdx.x * W * 3;
    for (int i = threadIdx.x; i < 3 * W; i += 256) row[i] = from[i];
    __syncthreads();
    for (int x = threadIdx.x; x < W; x += 256)
        gray[(size_t)blockIdx.x * W + x] = (row[3 * x] * 77 + row[3 * x + 1] * 150 + row[3 * x + 2] * 29 + 128) >> 8;
}
