// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: race
// kinds: race wrong_result unrepeatable uninitialised_read
// Copies to the output, fences and swaps there with the mirrored element if square: another block may not have copied.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r >= M || c >= N) return;
    if (M != N) {
        out[c * M + r] = in[r * N + c];
        return;
    }
    out[r * N + c] = in[r * N + c];
    __threadfence();
    if (r < c) {
        float v = out[r * N + c];
        out[r * N + c] = out[c * N + r];
        out[c * N + r] = v;
    }
}
