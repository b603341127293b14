// grid: 2*rows
// block: 32
// needs: 9.0
// One lane of each block arrives at the other's mbarrier, behind a __syncwarp().
#include <cooperative_groups.h>
namespace cg=cooperative_groups;
__global__ void __cluster_dims__(2,1,1) softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns){
  __shared__ float got[32]; __shared__ alignas(8) unsigned long long bar; auto cl=cg::this_cluster(); int h=cl.block_rank(),t=threadIdx.x,r=blockIdx.x/2; size_t o=(size_t)r*columns; unsigned A=__cvta_generic_to_shared(&bar),B;
  if(t==0){ asm volatile("mbarrier.init.shared.b64 [%0],1;"::"r"(A):"memory"); asm volatile("fence.mbarrier_init.release.cluster;":::"memory"); }
  asm volatile("mapa.shared::cluster.u32 %0,%1,%2;":"=r"(B):"r"(A),"r"(h^1)); cl.sync();
  float q=0; for(int i=h*32+t;i<columns;i+=64) q+=y[o+i]*dy[o+i];
  *cl.map_shared_rank(&got[t],h^1)=q;
  __syncwarp(); if(t==0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%0];"::"r"(B):"memory");
  unsigned ok=0; while(!ok) asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[%1],0; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(A):"memory");
  q+=got[t]; for(int m=16;m;m>>=1) q+=__shfl_xor_sync(~0u,q,m);
  for(int i=h*32+t;i<columns;i+=64) dx[o+i]=y[o+i]*(dy[o+i]-q); cl.sync(); }
