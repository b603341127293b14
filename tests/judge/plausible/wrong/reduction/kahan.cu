// grid: 1
// block: 1
// fault: NaN and infinity
// kinds: wrong_result
// Kahan's correction subtracts infinity from infinity: an infinite element gives NaN where the sum is infinite.
__global__ void sum_kahan(const float* x, float* total, int n)
{
    float sum = *total, lost = 0.0f;
    for (int i = 0; i < n; ++i) {
        float y = __fsub_rn(x[i], lost);
        float t = __fadd_rn(sum, y);
        lost = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    *total = sum;
}
