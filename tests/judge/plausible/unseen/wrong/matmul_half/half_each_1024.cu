// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: numerics: precision
// kinds: wrong_result
// The sum is rounded to half after each 1,024 products: one that goes past 65,504 and comes back is Inf.

#include <cuda_fp16.h>

__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
 int c=blockIdx.x*16+threadIdx.x,r=blockIdx.y*16+threadIdx.y; if (r>=M||c>=N) return; float s=0;
 for (int k=0;k<K;k++){ s+=__half2float(A[(size_t)r*K+k])*__half2float(B[(size_t)k*N+c]); if (k%1024==1023) s=__half2float(__float2half(s)); }
 C[(size_t)r*N+c]=__float2half(s);
}
