// A type K thermocouple: 0 to 20.644 millivolts as degrees Celsius, a polynomial of degree 9 (NIST ITS-90).
//
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void thermocouple(
    const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = mv[i];
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
