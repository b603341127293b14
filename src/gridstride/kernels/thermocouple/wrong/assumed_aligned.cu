// Assumed aligned: an access of 16 bytes at an address that need be a multiple of 4 only.
//
// entry: thermocouple_assumed_aligned
// block: 256
// grid: ceil(n/1024)
// expect: misaligned

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

extern "C" __global__ void thermocouple_assumed_aligned(const float* mv, float* celsius, int n)
{
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(mv + first);  // <- here
        *reinterpret_cast<float4*>(celsius + first) =  // <- here
            make_float4(temperature(v.x), temperature(v.y), temperature(v.z), temperature(v.w));
        return;
    }
    for (int i = first; i < min(first + 4, n); ++i) celsius[i] = temperature(mv[i]);
}
