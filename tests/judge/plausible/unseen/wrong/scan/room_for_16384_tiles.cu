// grid: ceil(n/256)
// block: 256
// fault: room for the tiles of smaller inputs
// kinds: out_of_bounds
// 16,384 tiles have a place; an input of more than 4 M elements has more tiles.
__device__ unsigned long long state[16384];  // flag << 32 | bits; the flag says launch and kind
__device__ unsigned ticket, finished, launches;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[256];
    __shared__ unsigned tile, stamp;
    __shared__ float before;
    __shared__ float seen[32];
    int t = threadIdx.x;
    if (t == 0) {
        tile = atomicAdd(&ticket, 1);
        stamp = atomicAdd(&launches, 0u) * 4;
        before = 0;
    }
    __syncthreads();
    int i = tile * 256 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        if (t >= d) s[t] += v;
        __syncthreads();
    }
    if (t < 32) {
        float total = s[255];
        if (t == 0)
            atomicExch(&state[tile], ((unsigned long long)(stamp + (tile ? 1 : 2)) << 32) | __float_as_uint(total));
        if (tile > 0) {
            float sum = 0;
            int look = (int)tile - 1;
            while (true) {
                int at = look - t;
                unsigned long long w;
                do w = at >= 0 ? atomicAdd(&state[at], 0ull) : ((unsigned long long)(stamp + 2) << 32);
                while (__any_sync(~0u, (unsigned)(w >> 32) - stamp - 1 > 1u));
                unsigned whole = __ballot_sync(~0u, (unsigned)(w >> 32) == stamp + 2);
                int nearest = whole ? __ffs(whole) - 1 : 31;
                float v = t <= nearest ? __uint_as_float((unsigned)w) : 0;
                for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
                sum += v;
                if (whole) break;
                look -= 32;
            }

            if (t == 0) {
                before = sum;
                atomicExch(&state[tile], ((unsigned long long)(stamp + 2) << 32) | __float_as_uint(sum + total));
            }
        }
    }
    __syncthreads();
    if (i < n) y[i] = tile ? before + s[t] : s[t];
    if (t == 0) {
        if (atomicAdd(&finished, 1) == gridDim.x - 1) {
            atomicExch(&ticket, 0u);
            atomicExch(&finished, 0u);
            atomicAdd(&launches, 1u);
        }
    }
}
