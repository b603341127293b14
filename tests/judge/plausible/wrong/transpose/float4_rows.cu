// grid: ceil(N/64) M
// block: 16
// fault: tail of 4
// kinds: wrong_result misaligned
// Reads rows as float4 and leaves out the columns of an incomplete four; rows of an N not divisible by 4 are misaligned.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int row = blockIdx.y, q = blockIdx.x * 16 + threadIdx.x;
    if (q >= N / 4) return;
    float4 v = reinterpret_cast<const float4*>(in + (size_t)row * N)[q];
    out[(size_t)(4 * q) * M + row] = v.x;
    out[(size_t)(4 * q + 1) * M + row] = v.y;
    out[(size_t)(4 * q + 2) * M + row] = v.z;
    out[(size_t)(4 * q + 3) * M + row] = v.w;
}
