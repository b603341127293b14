// Single power. Every number is a float, and powf is the function for floats. But it is a function: a logarithm, an
// exponential and care for special cases, nine times, where one multiplication leads from each power to the next.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many instructions

extern "C" __global__ void thermocouple(
    const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = mv[i];
    const float c[9] = {2.508355e1f, 7.860106e-2f, -2.503131e-1f, 8.315270e-2f, -1.228034e-2f,
                        9.804036e-4f, -4.413030e-5f, 1.057734e-6f, -1.052755e-8f};
    float sum = 0.0f;
    for (int k = 0; k < 9; ++k) sum += c[k] * powf(e, k + 1.0f);
    celsius[i] = sum;
}
