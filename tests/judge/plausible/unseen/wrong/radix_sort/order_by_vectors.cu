// grid: 1
// block: 256
// fault: values
// kinds: wrong_result
// The check for keys in order leaves out every eighth pair: vectors of 8 in order each pass for all.

__global__ void radix_sort(const unsigned* keys, unsigned* ordered, unsigned* scratch, int n)
{
 __shared__ unsigned cnt[256]; __shared__ unsigned wsum[8]; __shared__ unsigned base; int t=threadIdx.x; unsigned *src=scratch,*dst=ordered;
 
 __shared__ int bad; if (t==0) bad=0; __syncthreads(); for (int i=t;i+1<n;i+=256) if ((i&7)!=7 && keys[i+1]<keys[i]) atomicOr(&bad,1); __syncthreads();
 if (!bad){ for (int i=t;i<n;i+=256) ordered[i]=keys[i]; return; }

 for (int i=t;i<n;i+=256) src[i]=keys[i]; __syncthreads();
 for (int sh=0;sh<32;sh+=4){ 
  // every thread has a chunk
  int per=(n+255)/256, b=min(t*per,n), e=min(b+per,n); unsigned c[16]; for (int d=0;d<16;d++) c[d]=0; for (int i=b;i<e;i++) { unsigned d=src[i]>>sh&15; for (int z=0;z<16;z++) c[z]+=d==z; }
  unsigned run=0; unsigned st[16];
  for (int d=0;d<16;d++){ unsigned v=c[d],inc=v; for (int o=1;o<32;o<<=1){ unsigned u=__shfl_up_sync(~0u,inc,o); if ((t&31)>=o) inc+=u; } if ((t&31)==31) wsum[t/32]=inc; __syncthreads(); unsigned add=0,tot=0; for (int w=0;w<8;w++){ if (w<t/32) add+=wsum[w]; tot+=wsum[w]; } st[d]=run+add+inc-v; run+=tot; __syncthreads(); }
  for (int i=b;i<e;i++){ unsigned k=src[i],d=k>>sh&15,pos=0; for (int z=0;z<16;z++) if (d==z) pos=st[z]++; dst[pos]=k; }
  __syncthreads(); unsigned* x=src; src=dst; dst=x; }
 for (int i=t;i<n;i+=256) ordered[i]=src[i];
}
