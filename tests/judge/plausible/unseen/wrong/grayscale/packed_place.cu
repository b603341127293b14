// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// Row and column are kept in 16 bits each of one word: columns from 65536 on run into the row and are never written (W > 65536).

__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const unsigned place = (blockIdx.y * 8 + threadIdx.y) << 16 | (blockIdx.x * 32 + threadIdx.x);
    const unsigned row = place >> 16, column = place & 0xffffu;
    if (row >= H || column >= W) return;
    const size_t i = (size_t)row * W + column;
    gray[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8;
}
