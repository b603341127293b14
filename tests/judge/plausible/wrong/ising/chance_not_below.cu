// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// A cell whose word is the chance itself turns, too.
__device__ unsigned philox(unsigned c0, unsigned c1, unsigned c2, unsigned k0, int which)
{
    unsigned c3 = 0, k1 = 0;
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    return which == 0 ? c0 : which == 1 ? c1 : which == 2 ? c2 : c3;
}
__global__ void ising(const unsigned char* spins, unsigned char* after, int H, int W, int colour, unsigned three, unsigned four, unsigned half_sweep, unsigned seed)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    long long i = (long long)y * W + x; int s = spins[i];
    if (((y + x + colour) & 1) == 0) {
        int up = y ? y - 1 : H - 1, dn = y + 1 < H ? y + 1 : 0, lf = x ? x - 1 : W - 1, rt = x + 1 < W ? x + 1 : 0;
        int a = (spins[(long long)up * W + x] == s) + (spins[(long long)dn * W + x] == s) + (spins[(long long)y * W + lf] == s) + (spins[(long long)y * W + rt] == s);
        unsigned w = philox(y, x / 8, half_sweep, seed, (x % 8) / 2);
        if (a <= 2 || (a == 3 && w <= three) || (a == 4 && w <= four)) s ^= 1;
    }
    after[i] = s;
}
