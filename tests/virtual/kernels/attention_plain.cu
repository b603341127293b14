// Attention without tensor cores: the backward pass by atomics, and decoding over a paged cache in two launches.
#include <math.h>
constexpr int D = 32, TILE = 32;

// Row sums of dO * O; a warp for each row.
extern "C" __global__ void row_products(const float *o, const float *d_o, float *delta, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = o[row * D + lane] * d_o[row * D + lane];
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    if (lane == 0) delta[row] = sum;
}

// A block holds TILE keys and values and walks the queries; dQ of a query gets parts from every block.
extern "C" __global__ void backward(const float *q, const float *k, const float *v, const float *d_o, const float *lse,
                                    const float *delta, float *dq, float *dk, float *dv, int length, float scale) {
    __shared__ float ks[TILE][D + 1], vs[TILE][D + 1], qs[TILE][D + 1], os[TILE][D + 1], p[TILE][TILE + 1], ds[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * TILE, head = blockIdx.y * length;
    #pragma unroll 1
    for (int r = y; r < TILE; r += blockDim.y) {
        bool inside = first + r < length;
        ks[r][x] = inside ? k[(head + first + r) * D + x] : 0;
        vs[r][x] = inside ? v[(head + first + r) * D + x] : 0;
    }
    float sum_k[4] = {}, sum_v[4] = {};
    for (int start = first; start < length; start += TILE) {  // causal: earlier queries do not see these keys
        __syncthreads();
        #pragma unroll 1
        for (int r = y; r < TILE; r += blockDim.y) {
            bool inside = start + r < length;
            qs[r][x] = inside ? q[(head + start + r) * D + x] : 0;
            os[r][x] = inside ? d_o[(head + start + r) * D + x] : 0;
        }
        __syncthreads();
        #pragma unroll 1
        for (int r = y; r < TILE; r += blockDim.y) {  // query r, key x
            float s = 0, dp = 0;
            #pragma unroll 4
            for (int j = 0; j < D; ++j) { s += qs[r][j] * ks[x][j]; dp += os[r][j] * vs[x][j]; }
            int query = start + r, key = first + x;
            float w = query < length && key <= query ? __expf(s * scale - lse[head + query]) : 0;
            p[r][x] = w;
            ds[r][x] = query < length ? w * (dp - delta[head + query]) * scale : 0;
        }
        __syncthreads();
        for (int i = 0; i < 4; ++i) {
            int r = y + i * blockDim.y;  // key r, column x
            #pragma unroll 4
            for (int j = 0; j < TILE; ++j) { sum_v[i] += p[j][r] * os[j][x]; sum_k[i] += ds[j][r] * qs[j][x]; }
        }
        #pragma unroll 1
        for (int r = y; r < TILE; r += blockDim.y) {  // query r, column x
            float sum = 0;
            #pragma unroll 4
            for (int j = 0; j < TILE; ++j) sum += ds[r][j] * ks[j][x];
            if (start + r < length) atomicAdd(&dq[(head + start + r) * D + x], sum);
        }
    }
    for (int i = 0; i < 4; ++i) {
        int r = y + i * blockDim.y;
        if (first + r < length) { dk[(head + first + r) * D + x] = sum_k[i]; dv[(head + first + r) * D + x] = sum_v[i]; }
    }
}

// One query a sequence and head. Keys and values lie in pages of 16 that a table names; a block takes every
// gridDim.z-th run of 32 keys. part: (sequences, heads, splits, D), stats: the same with 2 numbers, maximum and weight.
constexpr int PAGE = 16;
extern "C" __global__ void decode(const float *q, const float *k_pages, const float *v_pages, const int *table,
                                  const int *lengths, float *part, float2 *stats, int heads, int most_pages, float scale) {
    __shared__ float scores[4][TILE], tops[4], weights[4], sums[4][D];
    int sequence = blockIdx.x, head = blockIdx.y, split = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int length = lengths[sequence], which = (sequence * heads + head) * gridDim.z + split;
    const float *mine = q + (sequence * heads + head) * D;
    float top = -INFINITY, weight = 0, sum = 0;
    for (int start = (split * 4 + warp) * TILE; start < length; start += gridDim.z * 4 * TILE) {
        int key = start + lane;
        float s = -INFINITY;
        if (key < length) {
            int page = table[sequence * most_pages + key / PAGE];
            const float4 *row = (const float4 *)(k_pages + ((page * PAGE + key % PAGE) * heads + head) * D);
            s = 0;
            #pragma unroll 2
            for (int j = 0; j < D / 4; ++j) {
                float4 a = row[j], b = ((const float4 *)mine)[j];
                s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
            }
            s *= scale;
        }
        float most = s;
        for (int apart = 16; apart; apart /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
        most = fmaxf(most, top);
        float shrink = __expf(top - most), w = __expf(s - most), total = w;
        for (int apart = 16; apart; apart /= 2) total += __shfl_xor_sync(~0u, total, apart);
        scores[warp][lane] = w;
        __syncwarp();
        sum *= shrink;
        for (int j = 0; j < TILE && start + j < length; ++j) {
            int page = table[sequence * most_pages + (start + j) / PAGE];
            sum += scores[warp][j] * v_pages[((page * PAGE + (start + j) % PAGE) * heads + head) * D + lane];
        }
        __syncwarp();
        weight = weight * shrink + total;
        top = most;
    }
    sums[warp][lane] = sum;
    if (lane == 0) { tops[warp] = top; weights[warp] = weight; }
    __syncthreads();
    if (warp != 0) return;
    float most = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3])), all = 0, out = 0;
    for (int w = 0; w < 4 && most > -INFINITY; ++w) {
        float shrink = __expf(tops[w] - most);
        all += weights[w] * shrink;
        out += sums[w][lane] * shrink;
    }
    part[which * D + lane] = out;
    if (lane == 0) stats[which] = make_float2(most, all);
}

extern "C" __global__ void combine(const float *part, const float2 *stats, float *o, int splits) {
    int which = blockIdx.x, lane = threadIdx.x;
    float most = -INFINITY, all = 0, out = 0;
    for (int s = 0; s < splits; ++s) most = fmaxf(most, stats[which * splits + s].x);
    for (int s = 0; s < splits; ++s) {
        float2 each = stats[which * splits + s];
        float shrink = __expf(each.x - most);
        all += each.y * shrink;
        out += part[(which * splits + s) * D + lane] * shrink;
    }
    o[which * D + lane] = out / all;
}
