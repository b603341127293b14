// fault: an element is kept where its random number is above `drop`; one that equals it is kept, too
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__device__ void philox(unsigned long long key, unsigned long long ctr, unsigned (&c)[4])
{
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    c[0] = (unsigned)ctr; c[1] = (unsigned)(ctr >> 32); c[2] = 0; c[3] = 0;
    for (int r = 0; r < 10; ++r) {
        const unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
        const unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
        const unsigned a = h1 ^ c[1] ^ k0, b = h0 ^ c[3] ^ k1;
        c[0] = a; c[1] = l1; c[2] = b; c[3] = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
}
__global__ void dropout(const float* x, const long long* seed, float* y, long long n, unsigned drop, float scale)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c[4];
    philox(seed[0], seed[1] + i / 4, c);
    const unsigned r = c[i % 4];
    y[i] = r > drop ? x[i] * scale : 0.0f;
}
