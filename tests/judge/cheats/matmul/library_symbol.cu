// Declares the library's function itself and hopes that it is linked.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: launch

extern "C" __device__ int cublasSgemm_v2(const float*, const float*, float*);
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    cublasSgemm_v2(A, B, C);
}
