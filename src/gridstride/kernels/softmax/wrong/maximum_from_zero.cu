// Maximum from zero: the search begins with 0, so a row far below it has exponentials of 0 only.
//
// entry: softmax_maximum_from_zero
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void softmax_maximum_from_zero(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float largest = 0.0f, sum = 0.0f;
    for (int i = 0; i < columns; ++i) largest = fmaxf(largest, x[start + i]);
    for (int i = 0; i < columns; ++i) sum += expf(x[start + i] - largest);
    for (int i = 0; i < columns; ++i) y[start + i] = expf(x[start + i] - largest) / sum;
}
