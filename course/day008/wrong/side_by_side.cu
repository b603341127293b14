// Side by side. Fewer threads with more work each share what is around the sum. The eight samples of a thread were
// taken as neighbours. Lanes are eight floats apart now, and memory, which is what is left to wait for, is asked for
// eight times as much.
//
// block: 256
// grid: ceil(n/2048)
// expect: too_many sectors_over

extern "C" __global__ void thermocouple(const float* mv, float* celsius, int n)
{
    const long long first = 8LL * (blockIdx.x * blockDim.x + threadIdx.x);
    for (long long i = first; i < min(first + 8, (long long)n); ++i) {
        const float e = mv[i];  // <- here
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
}
