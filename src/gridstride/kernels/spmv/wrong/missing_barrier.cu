// Missing barrier: rows are added up while other threads have not yet written the products.
//
// entry: spmv_missing_barrier
// block: 64
// grid: ceil(rows/64)
// expect: race

constexpr int ROOM = 512;  // products

extern "C" __global__ void spmv_missing_barrier(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    __shared__ float products[ROOM];
    const int t = threadIdx.x, row = blockIdx.x * 64 + t;
    const int begin = offsets[blockIdx.x * 64], end = offsets[min(blockIdx.x * 64 + 64, rows)];
    float sum = 0.0f;
    for (int first = begin; first < end; first += ROOM) {
        const int last = min(first + ROOM, end);
        for (int k = first + t; k < last; k += 64) products[k - first] = values[k] * x[indices[k]];  // <- here
        if (row < rows)
            for (int k = max(first, offsets[row]); k < min(last, offsets[row + 1]); ++k)
                sum += products[k - first];  // <- here
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}
