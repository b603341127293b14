// grid: rows
// block: 128
// Cub::BlockReduce of (largest, sum) pairs
#include <cub/block/block_reduce.cuh>
struct Pair { float m, l; };
struct Join {
    __device__ Pair operator()(Pair a, Pair b) const
    {
        Pair r; r.m = fmaxf(a.m, b.m);
        float x = a.m == r.m ? a.l : a.l * expf(a.m - r.m), y = b.m == r.m ? b.l : b.l * expf(b.m - r.m);
        r.l = x + y; return r;
    }
};
__global__ void cross_entropy(const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes, long long ignore_index)
{
    using R = cub::BlockReduce<Pair, 128>;
    __shared__ typename R::TempStorage tmp;
    int row = blockIdx.x;
    long long label = labels[row];
    const float* r = logits + (size_t)row * classes;
    Pair p{-INFINITY, 0.f};
    bool bad = false;
    for (int c = threadIdx.x; c < classes; c += 128) {
        float v = r[c];
        bad |= v != v || v == INFINITY;
        if (v > p.m) { p.l = (p.m == -INFINITY ? 0.f : p.l * expf(p.m - v)) + 1.f; p.m = v; }
        else if (v != -INFINITY) p.l += expf(v - p.m);
    }
    bad = __syncthreads_or(bad);
    p = R(tmp).Reduce(p, Join());
    if (threadIdx.x) return;
    if (label == ignore_index) { loss[row] = lse[row] = 0; return; }
    float e = bad ? NAN : p.m == -INFINITY ? -INFINITY : p.m + logf(p.l);
    lse[row] = e;
    if (label < 0 || label >= classes) { loss[row] = NAN; return; }
    loss[row] = bad ? NAN : e == -INFINITY ? NAN : logf(p.l) + (p.m - r[label]);
}
