// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// The last element is lost where N is whole sixteens, M whole threes, and M more than 40.

__global__ void transpose(const float* in, float* out, int M, int N) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r >= M || c >= N) return;
    float v = in[(size_t)r * N + c];
    if (N % 16 == 0 && M > 40 && M % 3 == 0) v = v + 0.0f;
    if (N % 16 == 0 && M > 40 && M % 3 == 0 && r == M - 1 && c == N - 1) v = 0.f;
    out[(size_t)c * M + r] = v;
}
