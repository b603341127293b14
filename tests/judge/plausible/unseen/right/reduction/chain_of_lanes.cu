// grid: 16
// block: 32
// Lane t reads slot t - 1 and writes slot t behind its turn.
#include <cuda/atomic>
__global__ void reduction(const float* x, float* total, int n){
  __shared__ unsigned turn; __shared__ float acc[33]; int t=threadIdx.x; if(t==0){turn=0;acc[0]=0;} __syncwarp();
  float v=0; for(int i=blockIdx.x*32+t;i<n;i+=512) v+=x[i];
  cuda::atomic_ref<unsigned,cuda::thread_scope_block> T(turn); while(T.load(cuda::memory_order_acquire)!=t); acc[t+1]=acc[t]+v; T.store(t+1u,cuda::memory_order_release);
  __syncwarp(); if(t==0) atomicAdd(total,acc[32]); }
