// right: mma.sync by hand
// grid: ceil(N/8)
// block: 32

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
 int l=threadIdx.x,K=32*steps,n0=blockIdx.x*8; for (int m0=0;m0<M;m0+=16){ float d[4]={0,0,0,0}; for (int k0=0;k0<K;k0+=16){ auto X=[&](int r,int k)->unsigned{ return r<M?*(const unsigned*)(x+(size_t)r*K+k):0u; }; int g=l/4,q=l%4*2; unsigned a0=X(m0+g,k0+q),a1=X(m0+g+8,k0+q),a2=X(m0+g,k0+q+8),a3=X(m0+g+8,k0+q+8); unsigned b0=n0+g<N?*(const unsigned*)(weight+(size_t)(n0+g)*K+k0+q):0u,b1=n0+g<N?*(const unsigned*)(weight+(size_t)(n0+g)*K+k0+q+8):0u;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(a0),"r"(a1),"r"(a2),"r"(a3),"r"(b0),"r"(b1)); }
  for (int e=0;e<4;e++){ int r=m0+l/4+(e/2)*8,c=n0+l%4*2+e%2; if (r<M&&c<N) y[(size_t)r*N+c]=__float2half(d[e]+__half2float(bias[c])); } }
}
