// grid: 16
// block: 32
// Every lane takes a spin lock; fences on both sides, __syncwarp() behind.
__global__ void reduction(const float* x, float* total, int n){
  __shared__ unsigned l; __shared__ float acc; int t=threadIdx.x; if(t==0){l=0;acc=0;} __syncwarp(); float v=0; for(int i=blockIdx.x*32+t;i<n;i+=512) v+=x[i];
  while(atomicCAS(&l,0u,1u)!=0u); __threadfence_block(); acc+=v; __threadfence_block(); atomicExch(&l,0u); __syncwarp(); if(t==0) atomicAdd(total,acc); }
