// grid: ceil(S*2*K/4)
// block: 128
// fault: values
// kinds: wrong_result
// Scores above 20,000 are cut to it: the largest no longer counts alone.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
 int w=blockIdx.x*4+threadIdx.x/32,lane=threadIdx.x&31; if (w>=S*2*K) return; int s=w/(2*K),hq=w%(2*K),h=hq/2; int L=lengths[s]; 
 float q0=__half2float(q[(size_t)w*64+lane*2]),q1=__half2float(q[(size_t)w*64+lane*2+1]),o0=0,o1=0,m=-INFINITY,l=0;
 for (int t=0;t<L;t++){ int b=tables[(size_t)s*table_width+t/16]; size_t at=(((size_t)b*K+h)*16+t%16)*64+lane*2;
  float d=q0*__half2float(keys[at])+q1*__half2float(keys[at+1]); for (int o=16;o;o>>=1) d+=__shfl_xor_sync(~0u,d,o); d*=scale;
  d=fminf(d,20000.f); float mn=fmaxf(m,d),c=expf(m-mn),e=expf(d-mn); l=l*c+e; o0=o0*c+e*__half2float(values[at]); o1=o1*c+e*__half2float(values[at+1]); m=mn; }
 out[(size_t)w*64+lane*2]=__float2half(L>0?o0/l:0.f); out[(size_t)w*64+lane*2+1]=__float2half(L>0?o1/l:0.f);
}
