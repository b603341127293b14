// What lanes 0 to 15 hold before the exchange and after each step of it: a row for each.
//
// entry: steps
// block: 32
// grid: 1

extern "C" __global__ void steps(const float* x, float* y)
{
    const int lane = threadIdx.x;
    float sum = x[lane];
    int row = 0;
    if (lane < 16) y[lane] = sum;
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane < 16) y[16 * ++row + lane] = sum;
    }
}
