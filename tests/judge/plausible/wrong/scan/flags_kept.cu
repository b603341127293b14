// grid: ceil(n/512)
// block: 512
// fault: device variable
// kinds: wrong_result unrepeatable race deadlock
// Look-back whose tiles publish sum and flag in one word, as they should; nobody clears the words for the next launch.
__device__ unsigned long long state[1 << 22];
__global__ void scan(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float warps[16];
    __shared__ float before;
    unsigned tile = blockIdx.x;
    int t = threadIdx.x, lane = t & 31, w = t >> 5;
    long long i = tile * 512LL + t;
    float v = i < n ? x[i] : 0.f;
    for (int d = 1; d < 32; d *= 2) {
        float u = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) warps[w] = v;
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) {
            float own = warps[k];
            warps[k] = sum;
            sum += own;
        }
        atomicExch(&state[tile], 1ull << 32 | __float_as_uint(sum));
        float b = 0;
        for (int from = (int)tile - 1; from >= 0;) {
            unsigned long long s = atomicAdd(&state[from], 0ull);
            unsigned flag = s >> 32;
            if (!flag) continue;
            b += __uint_as_float((unsigned)s);
            if (flag == 2) break;
            --from;
        }
        atomicExch(&state[tile], 2ull << 32 | __float_as_uint(b + sum));
        before = b;
    }
    __syncthreads();
    if (i < n) y[i] = before + warps[w] + v;
}
