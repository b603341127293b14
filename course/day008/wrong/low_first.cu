// Low first. The table begins with the coefficient of e, and so does this sum. But what stands first is multiplied by e
// nine times. The polynomial comes out turned round, and is in millions of degrees.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void thermocouple(
    const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = mv[i];
    const float c[9] = {2.508355e1f, 7.860106e-2f, -2.503131e-1f, 8.315270e-2f, -1.228034e-2f,
                        9.804036e-4f, -4.413030e-5f, 1.057734e-6f, -1.052755e-8f};
    float r = 0.0f;
    for (int k = 0; k < 9; ++k) r = (r + c[k]) * e;
    celsius[i] = r;
}
