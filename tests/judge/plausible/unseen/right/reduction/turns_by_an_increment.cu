// grid: 16
// block: 32
// Turns handed on by atomicAdd(&turn, 1).
#include <cuda/atomic>
__global__ void reduction(const float* x, float* total, int n){
  __shared__ unsigned turn; __shared__ float acc; int t=threadIdx.x; if(t==0){turn=0;acc=0;} __syncwarp();
  float v=0; for(int i=blockIdx.x*32+t;i<n;i+=512) v+=x[i];
  while(atomicAdd(&turn,0u)!=t); __threadfence_block();
  acc=acc+v;
  __threadfence_block(); atomicAdd(&turn,1u);
  __syncwarp(); if(t==0) atomicAdd(total,(float)acc); }
