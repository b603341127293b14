// grid: ceil(n/1024)
// block: 256
// // RIGHT
__device__ void philox(unsigned c[4], unsigned k0, unsigned k1)
{
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
        unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
        c[0] = h1 ^ c[1] ^ k0; c[1] = l1; c[2] = h0 ^ c[3] ^ k1; c[3] = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
}
__global__ void dropout(const float* x, const long long* seed, float* y, long long n, unsigned drop, float scale)
{
    long long q = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (q * 4 >= n) return;
    unsigned long long key = seed[0], ctr = (unsigned long long)seed[1] + q;
    unsigned c[4] = {(unsigned)ctr, (unsigned)(ctr >> 32), 0, 0};
    philox(c, (unsigned)key, (unsigned)(key >> 32));
    for (int j = 0; j < 4; j++) if (q * 4 + j < n) y[q * 4 + j] = c[j] < drop ? 0.f : x[q * 4 + j] * scale;
}
