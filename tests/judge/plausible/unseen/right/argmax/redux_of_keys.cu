// right: redux.sync
// grid: 1
// block: 1024

__global__ void argmax(const float* x, long long* best, int n)
{
 unsigned bu=0; unsigned bi=0xffffffffu; for (long long i=threadIdx.x;i<n;i+=1024){ float v=x[i]; unsigned u=__float_as_uint(v); if (v==0.f) u=0; u=isnan(v)?0xffffffffu:(u>>31)?~u:(u|0x80000000u); if (u>bu){bu=u;bi=(unsigned)i;} }
 __shared__ unsigned a[32],b[32]; unsigned m=__reduce_max_sync(~0u,bu); unsigned j=__reduce_min_sync(~0u,bu==m?bi:0xffffffffu); if (threadIdx.x%32==0){a[threadIdx.x/32]=m;b[threadIdx.x/32]=j;} __syncthreads();
 if (threadIdx.x<32){ unsigned v=a[threadIdx.x]; m=__reduce_max_sync(~0u,v); j=__reduce_min_sync(~0u,v==m?b[threadIdx.x]:0xffffffffu); if (threadIdx.x==0) best[0]=j; }
}
