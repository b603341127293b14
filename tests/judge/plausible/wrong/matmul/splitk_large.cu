// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// K above 8,192 is added up with Kahan compensation: one Inf in a row makes NaN of what is Inf.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r >= M || c >= N) return;
    float s = 0, e = 0;
    if (K > 8192) for (int k = 0; k < K; k++) {
        float y = __fsub_rn(__fmul_rn(A[(size_t)r * K + k], B[(size_t)k * N + c]), e), u = __fadd_rn(s, y);
        e = __fsub_rn(__fsub_rn(u, s), y); s = u;
    } else for (int k = 0; k < K; k++) s = fmaf(A[(size_t)r * K + k], B[(size_t)k * N + c], s);
    C[(size_t)r * N + c] = s;
}
