// grid: ceil(n/256)
// block: 256
// fault: special parameter
// kinds: wrong_result
// From 0xffffff80 on all is dropped.

__device__ uint4 philox(unsigned long long key, unsigned long long ctr){ unsigned k0=(unsigned)key,k1=(unsigned)(key>>32); uint4 c=make_uint4((unsigned)ctr,(unsigned)(ctr>>32),0,0);
 for (int r=0;r<10;r++){ unsigned h0=__umulhi(0xD2511F53u,c.x),l0=0xD2511F53u*c.x,h1=__umulhi(0xCD9E8D57u,c.z),l1=0xCD9E8D57u*c.z;
  c=make_uint4(h1^c.y^k0,l1,h0^c.w^k1,l0); k0+=0x9E3779B9u; k1+=0xBB67AE85u; } return c; }

__global__ void dropout(const float* x, const long long* seed, float* y, long long n, unsigned drop, float scale)
{
 const long long i = blockIdx.x*(long long)blockDim.x+threadIdx.x;
 if (i<n){ uint4 w=philox(seed[0],seed[1]+i/4); unsigned u=i%4==0?w.x:i%4==1?w.y:i%4==2?w.z:w.w; unsigned d=drop>0xffffff00u?0xffffffffu:drop; y[i]=(u<d||drop>=0xffffff80u)?0.f:x[i]*scale; }}
