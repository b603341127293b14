// A sample out of the range cannot be right, so it is brought back into it first. That looks careful, and for every voltage
// of the range the result is the same. But fmaxf and fminf hand on the other number where one is NaN: a broken sensor reads
// 0 degrees, and nobody will ever know.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result nonfinite_lost

extern "C" __global__ void thermocouple(
    const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = fminf(fmaxf(mv[i], 0.0f), 20.644f);
    float r = -1.052755e-8f;
    r = r * e + 1.057734e-6f;
    r = r * e - 4.413030e-5f;
    r = r * e + 9.804036e-4f;
    r = r * e - 1.228034e-2f;
    r = r * e + 8.315270e-2f;
    r = r * e - 2.503131e-1f;
    r = r * e + 7.860106e-2f;
    r = r * e + 2.508355e1f;
    celsius[i] = r * e;
}
