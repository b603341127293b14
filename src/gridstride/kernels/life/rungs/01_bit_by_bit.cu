// 01 bit by bit: a thread makes the 32 cells of a word one after another and asks for each of their neighbours.
//
// Moves: nothing yet. 9 * 32 loads for one word, each for a single bit of what it brings.
// Mapping: thread (x, y) -> word = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: life_bit_by_bit
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

__device__ __forceinline__ int alive(const unsigned int* now, int row, int column, int H, int W)
{
    if (row < 0 || row >= H || column < 0 || column >= 32 * W) return 0;
    return now[(size_t)row * W + column / 32] >> column % 32 & 1;
}

extern "C" __global__ void life_bit_by_bit(const unsigned int* now, unsigned int* next, int H, int W)
{
    const int word = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;

    unsigned int result = 0;
    for (int bit = 0; bit < 32; ++bit) {
        const int column = 32 * word + bit;
        int around = 0;
        for (int r = row - 1; r <= row + 1; ++r) {
            for (int c = column - 1; c <= column + 1; ++c) {
                if (r != row || c != column) around += alive(now, r, c, H, W);
            }
        }
        const bool lives = around == 3 || (around == 2 && alive(now, row, column, H, W));
        result |= (unsigned int)lives << bit;
    }
    next[(size_t)row * W + word] = result;
}
