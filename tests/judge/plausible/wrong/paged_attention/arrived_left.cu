// grid: 2*K 3 S
// block: 64
// fault: counter not reset
// kinds: wrong_result race unrepeatable
// Three parts of a sequence by three blocks; the last of a head pair merges, and leaves `arrived` at six.
#include <cuda_fp16.h>
__global__ void split(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                      __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ int place;
    int h = blockIdx.x, part = blockIdx.y, s = blockIdx.z, d = threadIdx.x, n = lengths[s];
    size_t head = (size_t)s * 2 * K + h, at = head * 64;
    float m = -1e30f, l = 0, o = 0;
    for (int t = n * part / 3; t < n * (part + 1) / 3; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        x *= scale;
        float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
        l = l * c + p; o = o * c + p * __half2float(values[row + d]); m = w;
    }
    float* mine = partial + (head * 3 + part) * 66;
    mine[d] = o;
    if (d == 0) mine[64] = m, mine[65] = l;
    __threadfence();
    __syncthreads();
    if (d == 0) place = atomicAdd(&arrived[s * K + h / 2], 1);
    __syncthreads();
    if (place != 5) return;
    __threadfence();
    for (int g = h & ~1; g <= (h | 1); ++g) {
        volatile float* p = partial + ((size_t)s * 2 * K + g) * 3 * 66;
        float top = fmaxf(p[64], fmaxf(p[130], p[196])), sum = 0, acc = 0;
        for (int k = 0; k < 3; ++k) {
            float c = expf(p[k * 66 + 64] - top);
            sum += c * p[k * 66 + 65];
            acc += c * p[k * 66 + d];
        }
        out[((size_t)s * 2 * K + g) * 64 + d] = __float2half(sum > 0 ? acc / sum : 0.0f);
    }
}
