// grid: 1
// block: 256
// fault: values
// kinds: wrong_result
// NaNs are ordered by their payloads: the first of them is wanted.
__global__ void argmax(const float* x, long long* best, int n){
  __shared__ unsigned long long s; int t=threadIdx.x; if(t==0) s=0; __syncthreads();
  for(int i=t;i<n;i+=256){ float f=x[i]; unsigned u=__float_as_uint(f); if(f==0.f) u=0; if(isnan(f)) u&=0x7fffffffu; u=(u>>31 ? ~u : u|0x80000000u);
    atomicMax(&s,((unsigned long long)u<<32)|(0xffffffffu-i)); }
  __syncthreads(); if(t==0) *best=0xffffffffu-(unsigned)s; }
