// grid: ceil(n/256)
// block: 256
// fault: off by one
// kinds: wrong_result
// U = 0.85 counts as the first of the flow meter's four rounds: three are made.
__global__ void calibrate(const float* x, float* y, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float v = x[i], r;
    switch (i % 4) {
        case 0: {
            float term = 1;
            r = 1;
            for (int k = 1; k <= 10; ++k) {
                term *= v / k;
                r += term;
            }
            break;
        }
        case 1:
            for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v);
            r = v;
            break;
        case 2:
            for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v;
            r = v;
            break;
        default: {
            const float a = 1 + v * v;
            float u = 0.85f;
            for (int k = 1; k < 4; ++k) u = u * (1.5f - 0.5f * a * u * u);
            r = a * u;
        }
    }
    y[i] = r;
}
