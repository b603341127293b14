// grid: ceil(N/8)
// block: 256
// fault: numerics: precision
// kinds: wrong_result
// Parts of 1,024 products are kept in half: one past 65,504 that another brings back is Inf.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
 int w=threadIdx.x/32,l=threadIdx.x&31,n=blockIdx.x*8+w,K=32*steps; if (n>=N) return; for (int m=0;m<M;m++){ float tot=0; for (int k0=0;k0<K;k0+=1024){ float s=0; for (int k=k0+l;k<min(K,k0+1024);k+=32) s+=__half2float(x[(size_t)m*K+k])*__half2float(weight[(size_t)n*K+k]); for (int o=16;o;o>>=1) s+=__shfl_xor_sync(~0u,s,o); tot+=K>1024?__half2float(__float2half(s)):s; } if (l==0) y[(size_t)m*N+n]=__float2half(tot+__half2float(bias[n])); }
}
