// 03 four per thread: neighbouring samples in one access of 16 bytes, where the arrays are aligned to that.
//
// Moves: memory requests, to a quarter; instructions, to less than two thirds.
// Mapping: thread t of block b -> samples 4 * (b * 256 + t) ... + 3.
//
// entry: thermocouple_four_per_thread
// block: 256
// grid: ceil(n/1024)

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

extern "C" __global__ void thermocouple_four_per_thread(const float* mv, float* celsius, int n)
{
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const bool vectors = (((size_t)mv | (size_t)celsius) & 15) == 0;
    if (vectors && first + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(mv + first);
        *reinterpret_cast<float4*>(celsius + first) =
            make_float4(temperature(v.x), temperature(v.y), temperature(v.z), temperature(v.w));
        return;
    }
    for (int i = first; i < min(first + 4, n); ++i) celsius[i] = temperature(mv[i]);
}
