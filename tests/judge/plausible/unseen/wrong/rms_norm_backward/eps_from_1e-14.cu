// grid: parts
// block: 256
// fault: special parameter
// kinds: wrong_result
// An eps below 1e-14 is raised to that: rows of 1e-10 with an eps of 1e-20.

__device__ float bsum(float v){ __shared__ float s[8]; int t=threadIdx.x; for (int o=16;o;o>>=1) v+=__shfl_xor_sync(~0u,v,o); __syncthreads(); if ((t&31)==0) s[t/32]=v; __syncthreads(); v=0; for (int k=0;k<8;k++) v+=s[k]; return v; }
__device__ float bmax(float v){ __shared__ float s[8]; int t=threadIdx.x; for (int o=16;o;o>>=1) v=fmaxf(v,__shfl_xor_sync(~0u,v,o)); __syncthreads(); if ((t&31)==0) s[t/32]=v; __syncthreads(); v=s[0]; for (int k=1;k<8;k++) v=fmaxf(v,s[k]); return v; }

__global__ void rms_norm_backward(const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts, float eps)
{
 for (int p=blockIdx.x;p<parts;p+=gridDim.x){ for (int c=threadIdx.x;c<columns;c+=256) partial[(size_t)p*columns+c]=0.f;
 for (int r=p;r<rows;r+=parts){ const float* X=x+(size_t)r*columns,*D=dy+(size_t)r*columns; float a=0,b=0; for (int c=threadIdx.x;c<columns;c+=256){ a+=X[c]*X[c]; b+=X[c]*D[c]*weight[c]; }
  a=bsum(a); b=bsum(b); float q=rsqrtf(a/columns+fmaxf(eps,1e-14f)); float m=b*q/columns;
  for (int c=threadIdx.x;c<columns;c+=256){ dx[(size_t)r*columns+c]=q*(D[c]*weight[c]-X[c]*q*m); partial[(size_t)p*columns+c]+=D[c]*X[c]*q; } } }
}
