// Float sum. The profiler says float64, a double is declared in the first line, and it is made a float. The numbers are
// still doubles. Each step goes to float64 for its addition and comes back. Nothing is declared, and nothing is seen.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many doubles

extern "C" __global__ void thermocouple(
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
