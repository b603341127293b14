// 01 as printed: the coefficients as they stand in the table, one sample for each thread.
//
// Moves: nothing yet. Numbers without an f are doubles, so every step of the polynomial is done in float64.
// Mapping: thread t of block b -> sample b * 256 + t.
//
// entry: thermocouple_as_printed
// block: 256
// grid: ceil(n/256)

__device__ float temperature(float e)  // °C of e mV, NIST ITS-90, type K
{
    double r = -1.052755e-8;
    r = r * e + 1.057734e-6;
    r = r * e - 4.413030e-5;
    r = r * e + 9.804036e-4;
    r = r * e - 1.228034e-2;
    r = r * e + 8.315270e-2;
    r = r * e - 2.503131e-1;
    r = r * e + 7.860106e-2;
    r = r * e + 2.508355e1;
    return r * e;
}

extern "C" __global__ void thermocouple_as_printed(const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) celsius[i] = temperature(mv[i]);
}
