// grid: ceil(n/256)
// block: 256
// fault: bits of NaN
// kinds: wrong_result
// Values pass through x + -0.0f: hardware makes every NaN 0x7fffffff, payload and sign are lost.
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < 8; f++) fields[(size_t)f * n + i] = __fadd_rn(records[(size_t)i * 8 + f], -0.0f);
}
