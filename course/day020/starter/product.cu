// C = A B in float32, each stored row by row: A has M rows of K floats, B has K rows of N, C has M rows of N.
// Any M, N and K, also 0 for K. An array may begin at any float, so that loads of 16 bytes from A and B need not be aligned.
//
// Nothing is given but the name. The launch, as threads in each block and blocks in the grid, is yours as well.
// Numbers, M, N, K, + - * / and ceil(…) may stand in it: ceil(N/16) is N / 16, rounded up.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
}
