// grid: min(rows,4*SMS)
// block: 96
// needs: 9.0
// fault: mbarrier counts
// kinds: deadlock race wrong_result timeout
// `empty` counts 32 arrivals where 64 come: two phases a round.
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns){
  __shared__ alignas(16) float sy[2][1024]; __shared__ alignas(8) unsigned long long full[2],empty[2]; __shared__ float p[2][2]; int w=threadIdx.x/32,l=threadIdx.x%32;
  auto A=[](void* p){ return (unsigned)__cvta_generic_to_shared(p); };
  auto wait=[&](void* q,unsigned ph){ unsigned ok=0; while(!ok) asm volatile("{.reg .pred q; mbarrier.try_wait.parity.shared.b64 q,[%1],%2; selp.u32 %0,1,0,q;}":"=r"(ok):"r"(A(q)),"r"(ph):"memory"); };
  bool bulk=columns%4==0&&columns<=1024&&columns>0&&((size_t)y&15)==0;
  if(threadIdx.x==0){ for(int k=0;k<2;k++){ asm volatile("mbarrier.init.shared.b64 [%0], 1;"::"r"(A(&full[k])):"memory"); asm volatile("mbarrier.init.shared.b64 [%0], 32;"::"r"(A(&empty[k])):"memory"); } asm volatile("fence.mbarrier_init.release.cluster;":::"memory"); asm volatile("fence.proxy.async;":::"memory"); }
  __syncthreads();
  if(w==2){ if(bulk&&l==0){ int k=0; for(int r=blockIdx.x;r<rows;r+=gridDim.x,k++){ int s=k&1; wait(&empty[s],((k>>1)&1)^1); asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;"::"r"(A(&full[s])),"r"(columns*4):"memory");
     asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];"::"r"(A(sy[s])),"l"(__cvta_generic_to_global(y+(size_t)r*columns)),"r"(columns*4),"r"(A(&full[s])):"memory"); } } return; }
  int k=0,t=threadIdx.x;
  for(int r=blockIdx.x;r<rows;r+=gridDim.x,k++){ int s=k&1; const float *u=y+(size_t)r*columns,*v=dy+(size_t)r*columns; if(bulk){ wait(&full[s],(k>>1)&1); u=sy[s]; }
    float q=0; for(int i=t;i<columns;i+=64) q+=u[i]*v[i]; for(int m=16;m;m>>=1) q+=__shfl_xor_sync(~0u,q,m); if(l==0) p[s][w]=q; asm volatile("bar.sync 1, 64;":::"memory"); q=p[s][0]+p[s][1];
    
    for(int i=columns-1-t;i>=0;i-=64) dx[(size_t)r*columns+i]=u[i]*(v[i]-q);
    if(bulk) asm volatile("mbarrier.arrive.shared.b64 _,[%0];"::"r"(A(&empty[s])):"memory"); } }
