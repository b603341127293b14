// grid: rows
// block: 256
// fault: special parameter
// kinds: wrong_result
// An eps below 1e-12 is raised to that: rows of 1e-10 with an eps of 1e-20.

__device__ float bsum(float v){ __shared__ float s[8]; int t=threadIdx.x; for (int o=16;o;o>>=1) v+=__shfl_xor_sync(~0u,v,o); __syncthreads(); if ((t&31)==0) s[t/32]=v; __syncthreads(); v=0; for (int k=0;k<8;k++) v+=s[k]; return v; }
__device__ float bmax(float v){ __shared__ float s[8]; int t=threadIdx.x; for (int o=16;o;o>>=1) v=fmaxf(v,__shfl_xor_sync(~0u,v,o)); __syncthreads(); if ((t&31)==0) s[t/32]=v; __syncthreads(); v=s[0]; for (int k=1;k<8;k++) v=fmaxf(v,s[k]); return v; }

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
 const float* p=x+(size_t)blockIdx.x*columns; int t=threadIdx.x; float a=0; for (int c=t;c<columns;c+=256) a+=p[c]; float mu=bsum(a)/columns; float b=0; for (int c=t;c<columns;c+=256){ float d=p[c]-mu; b+=d*d; } float r=rsqrtf(bsum(b)/columns+fmaxf(eps,1e-12f));
 for (int c=t;c<columns;c+=256) y[(size_t)blockIdx.x*columns+c]=(p[c]-mu)*r*weight[c]+bias[c]; if (t==0){ mean[blockIdx.x]=mu; rstd[blockIdx.x]=r; }
}
