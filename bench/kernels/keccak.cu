// Keccak-f[1600], 24 rounds unrolled, one state per thread.
typedef unsigned long long u64;
__device__ constexpr u64 RC[24] = {
 0x0000000000000001ULL,0x0000000000008082ULL,0x800000000000808aULL,0x8000000080008000ULL,0x000000000000808bULL,0x0000000080000001ULL,
 0x8000000080008081ULL,0x8000000000008009ULL,0x000000000000008aULL,0x0000000000000088ULL,0x0000000080008009ULL,0x000000008000000aULL,
 0x000000008000808bULL,0x800000000000008bULL,0x8000000000008089ULL,0x8000000000008003ULL,0x8000000000008002ULL,0x8000000000000080ULL,
 0x000000000000800aULL,0x800000008000000aULL,0x8000000080008081ULL,0x8000000000008080ULL,0x0000000080000001ULL,0x8000000080008008ULL};
__device__ __forceinline__ u64 rol(u64 x, int n) { return n ? (x << n) | (x >> (64 - n)) : x; }
extern "C" __global__ void keccak(u64* states, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    u64 A[25];
#pragma unroll
    for (int i = 0; i < 25; ++i) A[i] = states[i * n + t];
    constexpr int R[25] = {0,1,62,28,27,36,44,6,55,20,3,10,43,25,39,41,45,15,21,8,18,2,61,56,14};
#pragma unroll
    for (int r = 0; r < 24; ++r) {
        u64 C[5], D[5], B[25];
#pragma unroll
        for (int x = 0; x < 5; ++x) C[x] = A[x] ^ A[x+5] ^ A[x+10] ^ A[x+15] ^ A[x+20];
#pragma unroll
        for (int x = 0; x < 5; ++x) D[x] = C[(x+4)%5] ^ rol(C[(x+1)%5], 1);
#pragma unroll
        for (int x = 0; x < 5; ++x)
#pragma unroll
            for (int y = 0; y < 5; ++y) B[y + 5*((2*x+3*y)%5)] = rol(A[x+5*y] ^ D[x], R[x+5*y]);
#pragma unroll
        for (int x = 0; x < 5; ++x)
#pragma unroll
            for (int y = 0; y < 5; ++y) A[x+5*y] = B[x+5*y] ^ (~B[(x+1)%5+5*y] & B[(x+2)%5+5*y]);
        A[0] ^= RC[r];
    }
#pragma unroll
    for (int i = 0; i < 25; ++i) states[i * n + t] = A[i];
}
