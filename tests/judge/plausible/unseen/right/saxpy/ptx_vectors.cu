// Inline PTX: ld.global.v4 and st.global.v4 where both arrays lie alike, with a head and a tail peeled off.
// grid: min(max(1, ceil(n/1024)), 4*SMS)
// block: 256
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const long long g = (long long)blockIdx.x * 256 + threadIdx.x, G = (long long)gridDim.x * 256;
    const int mis = (int)(((size_t)y & 15) / 4);
    if (((size_t)x & 15) != ((size_t)y & 15)) {
        for (long long i = g; i < n; i += G) y[i] = fmaf(a, x[i], y[i]);
        return;
    }
    const long long head = min((long long)n, (long long)((4 - mis) % 4));
    const long long quads = (n - head) / 4;
    if (g < head) y[g] = fmaf(a, x[g], y[g]);
    for (long long q = g; q < quads; q += G) {
        const float *px = x + head + 4 * q;
        float* py = y + head + 4 * q;
        float x0, x1, x2, x3, y0, y1, y2, y3;
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x0), "=f"(x1), "=f"(x2), "=f"(x3) : "l"(px));
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(y0), "=f"(y1), "=f"(y2), "=f"(y3) : "l"(py));
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(y0) : "f"(a), "f"(x0));
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(y1) : "f"(a), "f"(x1));
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(y2) : "f"(a), "f"(x2));
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(y3) : "f"(a), "f"(x3));
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(py), "f"(y0), "f"(y1), "f"(y2), "f"(y3) : "memory");
    }
    const long long tail = head + 4 * quads + g;
    if (tail < n) y[tail] = fmaf(a, x[tail], y[tail]);
}
