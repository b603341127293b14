// A warp reads 32 records as eight coalesced rows and passes the words round by shuffles.
// grid: ceil(n/128)
// block: 128
__global__ void aos_to_soa(const float* records_, float* fields_, int n)
{
    const int* records = (const int*)records_;
    int* fields = (int*)fields_;
    const int lane = threadIdx.x % 32;
    const long long first = ((long long)blockIdx.x * 4 + threadIdx.x / 32) * 32;
    int v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) { const long long w = first * 8 + k * 32 + lane; v[k] = w < 8ll * n ? records[w] : 0; }
    // record r = lane, field f lies in row k = (8 r + f) / 32 = r / 4, lane (8 r + f) % 32 = 8 (r % 4) + f
#pragma unroll
    for (int f = 0; f < 8; ++f) {
        int mine = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int got = __shfl_sync(0xffffffffu, v[k], lane % 4 * 8 + f);
            if (lane / 4 == k) mine = got;
        }
        if (first + lane < n) fields[(long long)f * n + first + lane] = mine;
    }
}
