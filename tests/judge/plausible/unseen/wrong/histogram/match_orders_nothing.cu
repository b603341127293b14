// grid: min(ceil(n/256),4*SMS)
// block: 256
// fault: the leader of a bin changes from turn to turn, and match.sync orders none of its plain additions
// kinds: race
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned h[8][256];
    const int w = threadIdx.x / 32, l = threadIdx.x & 31;
    for (int k = l; k < 256; k += 32) h[w][k] = 0;
    __syncwarp();
    for (long long first = blockIdx.x * 256LL; first < n; first += gridDim.x * 256LL) {
        const long long i = first + threadIdx.x;
        const float f = i < n ? floorf(x[i] * 32.f) : NAN;
        const int k = f >= -128.f && f < 128.f ? (int)f + 128 : -1;
        const unsigned same = __match_any_sync(~0u, k);
        if (k >= 0 && __ffs(same) - 1 == l) h[w][k] += __popc(same);
    }
    __syncthreads();
    unsigned s = 0;
    for (int k = 0; k < 8; k++) s += h[k][threadIdx.x];
    if (s) atomicAdd(counts + threadIdx.x, (int)s);
}
