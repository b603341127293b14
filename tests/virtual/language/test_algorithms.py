"""Algorithms that public benchmark suites and samples consist of, written anew: right results, a silent sanitizer."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from numpy.random import default_rng as rng

import gridstride as gs

pytestmark = pytest.mark.usefixtures("both_builds")


def test_breadth_first_search_by_levels() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void level(const int *start, const int *edges, int *depth, int n, int now, int *more) {
        int v = blockIdx.x * blockDim.x + threadIdx.x;
        if (v >= n || depth[v] != now) return;
        for (int e = start[v]; e < start[v + 1]; ++e)
            if (atomicCAS(&depth[edges[e]], -1, now + 1) == -1) atomicExch(more, 1);
    }""")["level"]
    n = 300
    edges = [sorted(set(rng(i).integers(0, n, 3).tolist())) for i in range(n)]
    start = np.cumsum([0, *map(len, edges)]).astype(np.int32)
    flat = gs.to_device(np.concatenate(edges).astype(np.int32))
    depth, more = np.full(n, -1, np.int32), np.ones(1, np.int32)
    depth[0] = 0
    now = 0
    while more[0]:
        more[0] = 0
        # Neighbours' depths change while a level is read: its own nodes are settled, which is all that is compared.
        kernel[-(-n // 64), 64](start, flat, depth, n, now, more)
        now += 1
    want, frontier = {0: 0}, [0]
    while frontier:
        frontier = [w for v in frontier for w in edges[v] if w not in want and not want.update({w: want[v] + 1})]
    assert depth.tolist() == [want.get(v, -1) for v in range(n)]


def test_sequences_are_aligned_along_diagonals() -> None:
    """Needleman–Wunsch: the score matrix of a tile in shared memory, one diagonal after the other."""
    kernel = gs.cuda("""
    constexpr int N = 32;
    extern "C" __global__ void align(const char *a, const char *b, int *score, int gap, int diagonal, int tiles) {
        int tx = blockIdx.x + max(0, diagonal - tiles + 1), ty = diagonal - tx, w = tiles * N + 1, i = threadIdx.x;
        __shared__ int s[N + 1][N + 1];
        int *corner = score + ty * N * w + tx * N;
        s[0][i + 1] = corner[i + 1];
        s[i + 1][0] = corner[(i + 1) * w];
        if (i == 0) s[0][0] = corner[0];
        __syncthreads();
        for (int d = 0; d < 2 * N - 1; ++d) {
            int x = i + 1, y = d - i + 1;
            if (y >= 1 && y <= N) {
                int match = a[tx * N + x - 1] == b[ty * N + y - 1] ? 2 : -1;
                s[y][x] = max(s[y - 1][x - 1] + match, max(s[y - 1][x], s[y][x - 1]) - gap);
            }
            __syncthreads();
        }
        for (int y = 1; y <= N; ++y) corner[y * w + i + 1] = s[y][i + 1];
    }""")["align"]
    tiles, gap = 3, 1
    n = 32 * tiles
    a, b = (rng(seed).integers(0, 4, n).astype(np.int8) for seed in (1, 2))
    score = np.zeros((n + 1, n + 1), np.int32)
    score[0] = score[:, 0] = -gap * np.arange(n + 1)
    want = score.copy()
    device = gs.to_device(score)
    for diagonal in range(2 * tiles - 1):
        count = tiles - abs(diagonal - tiles + 1)
        kernel[count, 32](a, b, device, gap, diagonal, tiles)
    for y in range(1, n + 1):
        for x in range(1, n + 1):
            match = 2 if a[x - 1] == b[y - 1] else -1
            want[y, x] = max(want[y - 1, x - 1] + match, want[y - 1, x] - gap, want[y, x - 1] - gap)
    assert (device.numpy() == want).all()


def test_a_bitonic_sort_in_shared_memory() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void sort(unsigned *x) {
        extern __shared__ unsigned s[];
        unsigned n = 2 * blockDim.x, i = threadIdx.x;
        x += blockIdx.x * n;
        s[i] = x[i]; s[i + blockDim.x] = x[i + blockDim.x];
        for (unsigned size = 2; size <= n; size *= 2)
            for (unsigned stride = size / 2; stride; stride /= 2) {
                __syncthreads();
                unsigned p = 2 * i - (i & (stride - 1)), q = p + stride;
                bool up = (p & size) == 0;
                if ((s[p] > s[q]) == up) { unsigned t = s[p]; s[p] = s[q]; s[q] = t; }
            }
        __syncthreads();
        x[i] = s[i]; x[i + blockDim.x] = s[i + blockDim.x];
    }""")["sort"]
    x = rng(0).integers(0, 2**32, (3, 512), dtype=np.uint32)
    want = np.sort(x, axis=1)
    kernel[3, 256, 2048](x.reshape(-1))
    assert (x == want).all()


def test_all_shortest_paths_tile_by_tile() -> None:
    """Blocked Floyd–Warshall: the pivot tile, its row and column, then all others."""
    module = gs.cuda("""
    constexpr int N = 16;
    __device__ void relax(int *c, const int *a, const int *b) {
        int x = threadIdx.x, y = threadIdx.y;
        for (int k = 0; k < N; ++k) {
            int through = a[y * N + k] + b[k * N + x];
            __syncthreads();
            if (through < c[y * N + x]) c[y * N + x] = through;
            __syncthreads();
        }
    }
    extern "C" __global__ void pivot(int *d, int n, int k) {
        __shared__ int s[N * N];
        int at = (k * N + threadIdx.y) * n + k * N + threadIdx.x, me = threadIdx.y * N + threadIdx.x;
        s[me] = d[at];
        __syncthreads();
        relax(s, s, s);
        d[at] = s[me];
    }
    extern "C" __global__ void cross(int *d, int n, int k) {
        if (blockIdx.x == k) return;
        __shared__ int p[N * N], s[N * N];
        int me = threadIdx.y * N + threadIdx.x;
        p[me] = d[(k * N + threadIdx.y) * n + k * N + threadIdx.x];
        int row = blockIdx.y ? blockIdx.x : k, column = blockIdx.y ? k : blockIdx.x;
        int at = (row * N + threadIdx.y) * n + column * N + threadIdx.x;
        s[me] = d[at];
        __syncthreads();
        if (blockIdx.y) relax(s, s, p); else relax(s, p, s);
        d[at] = s[me];
    }
    extern "C" __global__ void rest(int *d, int n, int k) {
        if (blockIdx.x == k || blockIdx.y == k) return;
        __shared__ int a[N * N], b[N * N];
        int me = threadIdx.y * N + threadIdx.x;
        a[me] = d[(blockIdx.y * N + threadIdx.y) * n + k * N + threadIdx.x];
        b[me] = d[(k * N + threadIdx.y) * n + blockIdx.x * N + threadIdx.x];
        int at = (blockIdx.y * N + threadIdx.y) * n + blockIdx.x * N + threadIdx.x, best = d[at];
        __syncthreads();
        for (int i = 0; i < N; ++i) best = min(best, a[threadIdx.y * N + i] + b[i * N + threadIdx.x]);
        d[at] = best;
    }""")
    tiles, n = 4, 64
    d = np.where(rng(0).random((n, n)) < 0.1, rng(1).integers(1, 50, (n, n)), 1 << 28).astype(np.int32)
    np.fill_diagonal(d, 0)
    want = d.copy()
    for k in range(n):
        want = np.minimum(want, want[:, k : k + 1] + want[k])
    device = gs.to_device(d)
    for k in range(tiles):
        module["pivot"][1, (16, 16)](device, n, k)
        module["cross"][(tiles, 2), (16, 16)](device, n, k)
        module["rest"][(tiles, tiles), (16, 16)](device, n, k)
    assert (device.numpy() == want).all()


def test_a_histogram_through_copies_in_shared_memory() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void histogram(const uchar4 *x, unsigned *bins, int n) {
        __shared__ unsigned s[8][256];
        for (int i = threadIdx.x; i < 8 * 256; i += blockDim.x) (&s[0][0])[i] = 0;
        __syncthreads();
        unsigned *mine = s[threadIdx.x / 32];
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            uchar4 v = x[i];
            atomicAdd(&mine[v.x], 1); atomicAdd(&mine[v.y], 1); atomicAdd(&mine[v.z], 1); atomicAdd(&mine[v.w], 1);
        }
        __syncthreads();
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) sum += s[w][threadIdx.x];
        atomicAdd(&bins[threadIdx.x], sum);
    }""")["histogram"]
    x, bins = (rng(0).normal(128, 30, 8192) % 256).astype(np.uint8), np.zeros(256, np.uint32)
    kernel[4, 256](x, bins, 2048)
    assert (bins == np.bincount(x, minlength=256)).all()


def test_a_dictionary_is_filled_by_all_threads_at_once() -> None:
    """Open addressing: a slot is claimed by compare-and-swap, its count grows by atomics."""
    kernel = gs.cuda("""
    extern "C" __global__ void count(const unsigned *keys, int n, unsigned *slots, unsigned *counts,
                                     unsigned capacity) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        unsigned key = keys[i], at = (key * 2654435761u) % capacity;
        for (;; at = (at + 1) % capacity) {
            unsigned found = atomicCAS(&slots[at], 0xFFFFFFFFu, key);
            if (found == 0xFFFFFFFFu || found == key) break;
        }
        atomicAdd(&counts[at], 1);
    }""")["count"]
    keys = rng(0).integers(0, 200, 1000).astype(np.uint32)
    slots, counts = np.full(512, 0xFFFFFFFF, np.uint32), np.zeros(512, np.uint32)
    kernel[8, 128](keys, 1000, slots, counts, 512)
    full = slots != 0xFFFFFFFF
    assert dict(zip(slots[full], counts[full], strict=True)) == dict(
        zip(*np.unique(keys, return_counts=True), strict=True)
    )


def test_lists_that_differ_in_length_are_merged_by_diagonals() -> None:
    """Merge path: each thread finds by bisection where its part of the merged list begins."""
    kernel = gs.cuda("""
    extern "C" __global__ void merge(const int *a, int m, const int *b, int n, int *c, int part) {
        int d0 = min((blockIdx.x * blockDim.x + threadIdx.x) * part, unsigned(m + n)), d1 = min(d0 + part, m + n);
        int low = max(0, d0 - n), high = min(d0, m);
        while (low < high) {
            int middle = (low + high) / 2;
            if (a[middle] <= b[d0 - 1 - middle]) low = middle + 1; else high = middle;
        }
        int i = low, j = d0 - low;
        for (int d = d0; d < d1; ++d) c[d] = j >= n || (i < m && a[i] <= b[j]) ? a[i++] : b[j++];
    }""")["merge"]
    a, b = (
        np.sort(rng(0).integers(0, 999, 301)).astype(np.int32),
        np.sort(rng(1).integers(0, 999, 87)).astype(np.int32),
    )
    c = np.zeros(388, np.int32)
    kernel[2, 32](a, 301, b, 87, c, 7)
    assert c.tolist() == list(heapq.merge(a, b))


def test_queens_are_placed_by_search_without_recursion() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void queens(int n, unsigned long long *solutions) {
        int first = threadIdx.x, second = threadIdx.y, all = (1 << n) - 1;
        if (first == second || abs(first - second) == 1) return;
        int columns[16], left[16], right[16], open[16], row = 2;
        unsigned long long found = 0;
        columns[2] = 1 << first | 1 << second;
        left[2] = (1 << first << 1 | 1 << second) << 1; right[2] = (1 << first >> 1 | 1 << second) >> 1;
        open[2] = all & ~(columns[2] | left[2] | right[2]);
        while (row >= 2) {
            int bit = open[row] & -open[row];
            if (!bit) { --row; continue; }
            open[row] ^= bit;
            if (row == n - 1) { ++found; continue; }
            columns[row + 1] = columns[row] | bit; left[row + 1] = (left[row] | bit) << 1;
            right[row + 1] = (right[row] | bit) >> 1;
            ++row;
            open[row] = all & ~(columns[row] | left[row] | right[row]);
        }
        atomicAdd(solutions, found);
    }""")["queens"]
    found = np.zeros(1, np.uint64)
    kernel[1, (8, 8)](8, found)
    assert found[0] == 92


def test_rays_meet_shapes_through_virtual_functions_and_recursion() -> None:
    kernel = gs.cuda("""
    struct Shape { __device__ virtual float hit(float3 o, float3 d) const = 0; __device__ virtual ~Shape() {} };
    struct Sphere : Shape {
        float3 c; float r;
        __device__ Sphere(float3 c, float r) : c(c), r(r) {}
        __device__ float hit(float3 o, float3 d) const override {
            float3 p = {o.x - c.x, o.y - c.y, o.z - c.z};
            float b = p.x * d.x + p.y * d.y + p.z * d.z, q = b * b - (p.x * p.x + p.y * p.y + p.z * p.z - r * r);
            return q < 0 ? 1e9f : -b - sqrtf(q);
        }
    };
    struct Floor : Shape {
        float y;
        __device__ Floor(float y) : y(y) {}
        __device__ float hit(float3 o, float3 d) const override { return d.y >= 0 ? 1e9f : (y - o.y) / d.y; }
    };
    __device__ __noinline__ float shade(Shape **shapes, int n, float3 o, float3 d, int depth) {
        float best = 1e9f;
        int which = -1;
        for (int i = 0; i < n; ++i) {
            float t = shapes[i]->hit(o, d);
            if (t > 1e-3f && t < best) { best = t; which = i; }
        }
        if (which < 0) return 1;
        float3 p = {o.x + best * d.x, o.y + best * d.y, o.z + best * d.z};
        if (depth == 0) return 0.1f * which;
        return 0.1f * which + 0.5f * shade(shapes, n, p, {d.x, fabsf(d.y), d.z}, depth - 1);
    }
    extern "C" __global__ void render(float *image, int w, int h) {
        __shared__ Shape *shapes[2];
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            shapes[0] = new Sphere(float3{0, 0, 5}, 1.0f);
            shapes[1] = new Floor(-1.0f);
        }
        __syncthreads();
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        float3 d = {(x - w / 2 + 0.5f) / w, (h / 2 - y - 0.5f) / h, 1};
        float s = rsqrtf(d.x * d.x + d.y * d.y + 1);
        image[y * w + x] = shade(shapes, 2, {0, 0, 0}, {d.x * s, d.y * s, s}, 3);
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) { delete shapes[0]; delete shapes[1]; }
    }""")["render"]
    image = np.zeros((32, 32), np.float32)
    kernel[(2, 2), (16, 16)](image, 32, 32)
    assert image[0, 0] == 1
    assert image[-1, 0] == np.float32(0.1 + 0.5)
    assert 0 < image[16, 16] < 0.6


def test_a_tree_is_built_and_walked_by_the_threads_themselves() -> None:
    """A binary search tree: nodes from a pool, links by compare-and-swap."""
    module = gs.cuda("""
    struct Node { int key; Node *child[2]; };
    __device__ Node *root;
    extern "C" __global__ void insert(const int *keys, Node *pool, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        Node *node = pool + i;
        node->key = keys[i]; node->child[0] = node->child[1] = nullptr;
        __threadfence();
        Node **link = &root;
        while (Node *there = (Node *)atomicCAS((unsigned long long *)link, 0ull, (unsigned long long)node))
            link = &there->child[keys[i] > there->key];
    }
    extern "C" __global__ void depths(const int *keys, int *depth, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, d = 0;
        if (i >= n) return;
        for (const Node *at = root; at->key != keys[i]; at = at->child[keys[i] > at->key]) ++d;
        depth[i] = d;
    }""")
    n = 200
    keys, depth = rng(0).permutation(n).astype(np.int32), np.full(n, -1, np.int32)
    pool = gs.empty(24 * n, np.uint8)
    module["insert"][4, 64](keys, pool, n)
    module["depths"][4, 64](keys, depth, n)
    assert (depth >= 0).all()
    assert (np.sort(depth)[:1] == 0).all()
    assert (depth == 0).sum() == 1


@pytest.mark.parametrize("n", [1, 31, 1000, 4099])
def test_a_sum_in_one_launch_by_the_last_block_to_finish(n: int) -> None:
    module = gs.cuda("""
    __device__ unsigned done;
    extern "C" __global__ void sum(const float *x, volatile float *parts, float *out, int n) {
        __shared__ float s[128];
        __shared__ bool last;
        float v = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
        s[threadIdx.x] = v;
        __syncthreads();
        for (int o = 64; o > 0; o /= 2) {
            if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            parts[blockIdx.x] = s[0];
            __threadfence();
            last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (!last) return;
        v = 0;
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) v += parts[i];
        s[threadIdx.x] = v;
        __syncthreads();
        for (int o = 64; o > 0; o /= 2) {
            if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
            __syncthreads();
        }
        if (threadIdx.x == 0) *out = s[0];
    }""")
    x, out = rng(0).random(n, np.float32), np.zeros(1, np.float32)
    for _ in range(2):
        module["sum"][7, 128](x, gs.empty(7, np.float32), out, n)
        assert np.allclose(out, x.astype(float).sum(), rtol=1e-5)
