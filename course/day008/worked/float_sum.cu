// The polynomial with a sum in float32; its numbers are as the table prints them.
//
// entry: float_sum
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void float_sum(
    const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = mv[i];
    float r = -1.052755e-8;
    r = r * e + 1.057734e-6;
    r = r * e - 4.413030e-5;
    r = r * e + 9.804036e-4;
    r = r * e - 1.228034e-2;
    r = r * e + 8.315270e-2;
    r = r * e - 2.503131e-1;
    r = r * e + 7.860106e-2;
    r = r * e + 2.508355e1;
    celsius[i] = r * e;
}
