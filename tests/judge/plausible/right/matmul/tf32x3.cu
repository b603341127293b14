// grid: ceil(N/8) ceil(M/16)
// block: 32
// Tensor cores at float32's accuracy: a number is the sum of three tf32 parts, six products of which count. What does not
// split well (infinities, NaN, very large and very small numbers) goes the plain way.
__device__ unsigned tf32(float v)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
struct Parts { unsigned p[3]; };
__device__ Parts split(float v)
{
    Parts s;
    for (int i = 0; i < 3; ++i) {
        s.p[i] = tf32(v);
        v -= __uint_as_float(s.p[i]);
    }
    return s;
}
__device__ void mma(float* d, const unsigned* a, const unsigned* b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ bool tame(float v) { return v == 0.0f || (fabsf(v) > 1e-15f && fabsf(v) < 1e15f); }
__global__ void mm_tf32x3(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int g = threadIdx.x / 4, q = threadIdx.x % 4, r0 = blockIdx.y * 16, c0 = blockIdx.x * 8;
    float large[4] = {}, small[4] = {};
    bool fine = true;
    for (int k0 = 0; k0 < K; k0 += 8) {
        unsigned a[3][4], b[3][2];
        for (int i = 0; i < 4; ++i) {
            const int r = r0 + g + i % 2 * 8, k = k0 + q + i / 2 * 4;
            const float v = r < M && k < K ? A[(size_t)r * K + k] : 0.0f;
            fine &= tame(v);
            const Parts s = split(v);
            for (int p = 0; p < 3; ++p) a[p][i] = s.p[p];
        }
        for (int i = 0; i < 2; ++i) {
            const int k = k0 + q + i * 4, c = c0 + g;
            const float v = k < K && c < N ? B[(size_t)k * N + c] : 0.0f;
            fine &= tame(v);
            const Parts s = split(v);
            for (int p = 0; p < 3; ++p) b[p][i] = s.p[p];
        }
        mma(small, a[2], b[0]);
        mma(small, a[1], b[1]);
        mma(small, a[0], b[2]);
        mma(small, a[1], b[0]);
        mma(small, a[0], b[1]);
        float step[4] = {};
        mma(step, a[0], b[0]);
        for (int i = 0; i < 4; ++i) large[i] += step[i];
    }
    fine = __all_sync(0xffffffffu, fine);
    for (int i = 0; i < 4; ++i) {
        const int r = r0 + g + i / 2 * 8, c = c0 + 2 * q + i % 2;
        if (r >= M || c >= N) continue;
        float s = large[i] + small[i];
        if (!fine) {
            s = 0;
            for (int k = 0; k < K; ++k) s += A[(size_t)r * K + k] * B[(size_t)k * N + c];
        }
        C[(size_t)r * N + c] = s;
    }
}
