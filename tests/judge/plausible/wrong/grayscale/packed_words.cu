// grid: ceil(H*W/256)
// block: 256
// fault: race
// kinds: race misaligned out_of_bounds wrong_result unrepeatable
// Puts its byte into the word it belongs to by reading, masking and writing the word: four threads share one.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x, n = H * W;
    if (i >= n) return;
    unsigned level = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
    if (i < n / 4 * 4) {
        unsigned* word = (unsigned*)gray + i / 4;
        for (int turn = 0; turn < 4; ++turn)
            if (i % 4 == turn) *word = (*word & ~(255u << 8 * turn)) | level << 8 * turn;
    } else
        gray[i] = level;
}
