// Two suffice: two neighbours give life here, to a cell that is dead as well.
//
// entry: life_two_suffice
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

extern "C" __global__ void life_two_suffice(const unsigned int* now, unsigned int* next, int H, int W)
{
    const int word = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;
    unsigned int result = 0;
    for (int bit = 0; bit < 32; ++bit) {
        int around = 0;
        for (int k = 0; k < 9; ++k) {
            const int y = row - 1 + k / 3, x = 32 * word + bit - 1 + k % 3;
            if (k == 4 || y < 0 || y >= H || x < 0 || x >= 32 * W) continue;
            around += now[(size_t)y * W + x / 32] >> x % 32 & 1;
        }
        result |= (around == 2 || around == 3 ? 1u : 0u) << bit;
    }
    next[(size_t)row * W + word] = result;
}
