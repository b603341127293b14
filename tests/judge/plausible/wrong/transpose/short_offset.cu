// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: index type
// kinds: out_of_bounds wrong_result
// Offsets in 16-bit integers: matrices of more than 32,768 elements wrap below zero.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    short c = blockIdx.x * 16 + threadIdx.x;
    short r = blockIdx.y * 16 + threadIdx.y;
    if (r >= M || c >= N) return;
    short from = r * N + c;
    short to = c * M + r;
    out[to] = in[from];
}
