// A block adds up rows of 256 floats, each turned round: it fetches a row, waits, uses it, waits, fetches the next.
//
// entry: in_turn
// block: 256
// grid: 1

extern "C" __global__ void in_turn(const float* x, float* y, int rows)
{
    __shared__ float row[256];

    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rows; ++r) {
        row[t] = x[r * 256 + t];
        __syncthreads();  // the row is whole

        for (int k = 0; k < 16; ++k) {
            sum += row[255 - (t ^ k)];
        }
        __syncthreads();  // all have used it
    }
    y[t] = sum;
}
