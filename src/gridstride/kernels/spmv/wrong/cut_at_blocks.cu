// Cut at blocks: blocks have equal numbers of entries, and a row counts in the block alone in which it begins.
//
// entry: spmv_cut_at_blocks
// block: 256
// grid: ceil(max(rows,entries)/256)
// expect: wrong_result

extern "C" __global__ void spmv_cut_at_blocks(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    __shared__ float products[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t, first = blockIdx.x * 256;
    products[t] = i < offsets[rows] ? values[i] * x[indices[i]] : 0.0f;
    __syncthreads();
    if (i < rows && offsets[i] == offsets[i + 1]) y[i] = 0.0f;
    int low = 0, high = rows;  // the first row that ends behind entry i
    while (low < high) {
        const int middle = (low + high) / 2;
        if (offsets[middle + 1] <= i) low = middle + 1;
        else high = middle;
    }
    if (low == rows || offsets[low] != i) return;
    float sum = 0.0f;
    for (int k = i; k < min(offsets[low + 1], first + 256); ++k) sum += products[k - first];
    y[low] = sum;
}
