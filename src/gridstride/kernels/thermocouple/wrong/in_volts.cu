// In volts: the polynomial is one of millivolts, and so are the samples.
//
// entry: thermocouple_in_volts
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__device__ float temperature(float e)  // °C of e mV, NIST ITS-90, type K
{
    float r = -1.052755e-8f;
    r = r * e + 1.057734e-6f;
    r = r * e - 4.413030e-5f;
    r = r * e + 9.804036e-4f;
    r = r * e - 1.228034e-2f;
    r = r * e + 8.315270e-2f;
    r = r * e - 2.503131e-1f;
    r = r * e + 7.860106e-2f;
    r = r * e + 2.508355e1f;
    return r * e;
}

extern "C" __global__ void thermocouple_in_volts(const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) celsius[i] = temperature(mv[i] * 1e-3f);
}
