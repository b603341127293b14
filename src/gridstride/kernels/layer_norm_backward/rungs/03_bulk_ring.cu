// 03 bulk ring: 16 bytes a load; the copy engine brings rows ahead of the threads, into shared memory.
//
// Moves: reads of x and dy, from two to one each, of the weight and of parts from one for each row to none; bytes on
//   their way, to STAGES rows of x and dy for each block, for which no register waits. Rows whose width is no whole
//   number of vectors are read once, too, element by element.
// Mapping: LANES threads have a row; lane l -> vectors l, l + LANES and so on, up to KEPT of them. One thread asks for
//   a row of x and one of dy in two copies, when every thread has taken its share of the row that was in their place.
//
// entry: layer_norm_backward_bulk_ring
// block: 256
// grid: parts
// shared: 3*2*4*min(columns,4096)
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 256  // threads of a row: a multiple of 32
#endif
#ifndef KEPT
#define KEPT 4  // vectors per thread and array
#endif

constexpr int STAGES = 3;  // rows on their way
constexpr int WARPS = LANES / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);

typedef unsigned long long Barrier;

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- where rows come from ---------------------------------------------------------------------------------------------
struct Rows {
    const ELEMENT *x, *dy;
    const float *mean, *rstd;
    int rows, columns, parts;
};

// Where a block's sums down the columns go.
struct Sums {
    float *weights, *biases;
};

// From global memory, by every thread itself.
struct Direct : Rows {
    __device__ __forceinline__ const ELEMENT* of_x(int row) const { return x + (long long)row * columns; }
    __device__ __forceinline__ const ELEMENT* of_dy(int row) const { return dy + (long long)row * columns; }
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void wait() {}
    __device__ __forceinline__ void taken(int row) {}
};

// Through STAGES places in shared memory, each for a row of x and one of dy.
struct Ring : Rows {
    ELEMENT* places;
    Barrier* there;
    int turn;

    __device__ __forceinline__ ELEMENT* place() const { return places + turn % STAGES * 2 * columns; }
    __device__ __forceinline__ const ELEMENT* of_x(int row) const { return place(); }
    __device__ __forceinline__ const ELEMENT* of_dy(int row) const { return place() + columns; }

    __device__ __forceinline__ void copy(ELEMENT* to, const ELEMENT* from) const
    {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(address(to)), "l"(from), "r"(columns * (int)sizeof(ELEMENT)),
                       "r"(address(&there[turn % STAGES])) : "memory");
    }

    // For the place that this turn has; one thread alone.
    __device__ __forceinline__ void ask(int row) const
    {
        if (row >= rows) return;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(address(&there[turn % STAGES])), "r"(2 * columns * (int)sizeof(ELEMENT)) : "memory");
        copy(place(), x + (long long)row * columns);
        copy(place() + columns, dy + (long long)row * columns);
    }

    __device__ __forceinline__ void begin()
    {
        if (threadIdx.x == 0) {
            for (int s = 0; s < STAGES; ++s)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&there[s])) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            long long row = blockIdx.x;
            for (turn = 0; turn < STAGES && row < rows; ++turn, row += parts) ask(int(row));
        }
        turn = 0;
        __syncthreads();
    }

    __device__ __forceinline__ void wait() const
    {
        unsigned int done;
        do {
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(address(&there[turn % STAGES])), "r"(turn / STAGES & 1) : "memory");
        } while (!done);
    }

    // All threads have their shares of the row in registers: its place may be filled.
    __device__ __forceinline__ void taken(int row)
    {
        const long long next = row + (long long)STAGES * parts;
        if (threadIdx.x == 0 && next < rows) ask(int(next));
        ++turn;
    }
};

// -- a row ------------------------------------------------------------------------------------------------------------
// Both sums over the block, in every thread.
__device__ __forceinline__ float2 block_sums(float2 value, int turn)
{
    __shared__ float2 of_warps[2][WARPS];
    for (int offset = 16; offset > 0; offset /= 2) {
        value.x += __shfl_xor_sync(0xffffffffu, value.x, offset);
        value.y += __shfl_xor_sync(0xffffffffu, value.y, offset);
    }
    if (threadIdx.x % 32 == 0) of_warps[turn][threadIdx.x / 32] = value;
    __syncthreads();
    value = make_float2(0.0f, 0.0f);
    for (int w = 0; w < WARPS; ++w) value.x += of_warps[turn][w].x, value.y += of_warps[turn][w].y;
    return value;
}

// dy weight, rounded: in rows of one column it is its own mean, and nothing is to be left of it. What a multiply-add
// does not round would be, times an rstd of hundreds.
__device__ __forceinline__ float product(ELEMENT dy, ELEMENT weight) { return __fmul_rn(float(dy), float(weight)); }

template <int WIDTH> struct alignas(WIDTH * sizeof(ELEMENT)) Vector {
    ELEMENT of[WIDTH];
};

// All rows of a block, N vectors of WIDTH elements a thread. Without a weight all of it is 1.
template <int N, int WIDTH, typename Source>
__device__ __forceinline__ void go_through(Source from, const ELEMENT* weight, ELEMENT* dx, Sums to)
{
    typedef Vector<WIDTH> Piece;
    const int t = threadIdx.x, columns = from.columns, pieces = columns / WIDTH;
    Piece w[N];
    float of_weight[N][WIDTH] = {}, of_bias[N][WIDTH] = {};  // this block's parts
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (t + k * LANES >= pieces) break;
        if (weight) {
            w[k] = reinterpret_cast<const Piece*>(weight)[t + k * LANES];
        } else {
#pragma unroll
            for (int e = 0; e < WIDTH; ++e) w[k].of[e] = ELEMENT(1.0f);
        }
    }
    from.begin();
    for (int row = blockIdx.x, turn = 0; row < from.rows; row += from.parts, turn ^= 1) {
        const float centre = from.mean[row], scale = from.rstd[row];
        from.wait();
        Piece a[N], b[N];
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            if (t + k * LANES >= pieces) break;
            a[k] = reinterpret_cast<const Piece*>(from.of_x(row))[t + k * LANES];
            b[k] = reinterpret_cast<const Piece*>(from.of_dy(row))[t + k * LANES];
        }
#pragma unroll
        for (int k = 0; k < N; ++k) {
            if (t + k * LANES >= pieces) break;
#pragma unroll
            for (int e = 0; e < WIDTH; ++e) {
                const float g = product(b[k].of[e], w[k].of[e]);
                sums.x += g;
                sums.y += g * ((float(a[k].of[e]) - centre) * scale);
            }
        }
        sums = block_sums(sums, turn);
        from.taken(row);
        sums.x /= columns, sums.y /= columns;
        Piece* out = reinterpret_cast<Piece*>(dx + (long long)row * columns);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            if (t + k * LANES >= pieces) break;
#pragma unroll
            for (int e = 0; e < WIDTH; ++e) {
                const float normed = (float(a[k].of[e]) - centre) * scale, slope = float(b[k].of[e]);
                const float g = product(b[k].of[e], w[k].of[e]);
                a[k].of[e] = ELEMENT(scale * (g - sums.x - normed * sums.y));
                of_weight[k][e] += slope * normed;
                of_bias[k][e] += slope;
            }
            out[t + k * LANES] = a[k];
        }
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (t + k * LANES >= pieces) break;
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
            to.weights[(t + k * LANES) * WIDTH + e] = of_weight[k][e];
            to.biases[(t + k * LANES) * WIDTH + e] = of_bias[k][e];
        }
    }
}

// Rows too long for the registers: everything is read twice, and the parts lie in global memory.
__device__ __noinline__ void read_twice(const Rows& from, const ELEMENT* weight, ELEMENT* dx, Sums to)
{
    const int t = threadIdx.x, columns = from.columns;
    for (int i = t; i < columns; i += LANES) to.weights[i] = to.biases[i] = 0.0f;
    for (int row = blockIdx.x, turn = 0; row < from.rows; row += from.parts, turn ^= 1) {
        const long long start = (long long)row * columns;
        const ELEMENT *x = from.x + start, *dy = from.dy + start;
        const float centre = from.mean[row], scale = from.rstd[row];
        float2 sums = make_float2(0.0f, 0.0f);
        for (int i = t; i < columns; i += LANES) {
            const float g = weight ? product(dy[i], weight[i]) : float(dy[i]);
            sums.x += g;
            sums.y += g * ((float(x[i]) - centre) * scale);
        }
        sums = block_sums(sums, turn);
        sums.x /= columns, sums.y /= columns;
        for (int i = t; i < columns; i += LANES) {
            const float normed = (float(x[i]) - centre) * scale, slope = float(dy[i]);
            const float g = weight ? product(dy[i], weight[i]) : slope;
            dx[start + i] = ELEMENT(scale * (g - sums.x - normed * sums.y));
            to.weights[i] += slope * normed;
            to.biases[i] += slope;
        }
    }
}

extern "C" __global__ void __launch_bounds__(LANES) layer_norm_backward_bulk_ring(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ dy,
    const float* __restrict__ mean, const float* __restrict__ rstd, ELEMENT* __restrict__ dx,
    float* __restrict__ dweight, float* __restrict__ dbias, int rows, int columns, int parts)
{
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ Barrier there[STAGES];
    const Sums to = {dweight + (long long)blockIdx.x * columns, dbias + (long long)blockIdx.x * columns};
    const Rows from = {x, dy, mean, rstd, rows, columns, parts};
    const bool aligned = (((size_t)x | (size_t)weight | (size_t)dy | (size_t)dx) & 15) == 0;
    if (columns > KEPT * LANES * VECTOR) return read_twice(from, weight, dx, to);
    if (!aligned || columns % VECTOR) return go_through<KEPT * VECTOR, 1>(Direct{from}, weight, dx, to);
    go_through<KEPT, VECTOR>(Ring{from, reinterpret_cast<ELEMENT*>(memory), there, 0}, weight, dx, to);
}
