// grid: min(rows,2*SMS)
// block: 128
// needs: 9.0
// fault: ring of stages
// kinds: race wrong_result unwaited_copy
// The bulk copy of the next row begins with no barrier behind what others still read there.
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns){
  __shared__ alignas(16) float sy[2][1024]; __shared__ alignas(8) unsigned long long bar[2]; __shared__ float s[2][4]; int t=threadIdx.x,k=0;
  unsigned ba=__cvta_generic_to_shared(bar), sa=__cvta_generic_to_shared(&sy[0][0]);
  bool bulk=columns<=1024&&columns%4==0&&columns>0&&((size_t)y&15)==0;
  if(t==0){ for(int z=0;z<2;z++) asm volatile("mbarrier.init.shared.b64 [%0], 1;"::"r"(ba+8*z):"memory"); asm volatile("fence.proxy.async;":::"memory"); } __syncthreads();
  auto get=[&](int r,int st){ asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"::"r"(ba+8*st),"r"(columns*4):"memory");
       asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"::"r"(sa+4096*st),"l"(__cvta_generic_to_global(y+(size_t)r*columns)),"r"(columns*4),"r"(ba+8*st):"memory"); };
  if(bulk&&t==0&&blockIdx.x<rows) get(blockIdx.x,0);
  for(int r=blockIdx.x;r<rows;r+=gridDim.x,k++){ const float* py=y+(size_t)r*columns; const float* pd=dy+(size_t)r*columns; int st=k&1;
    if(bulk){ unsigned ok=0; while(!ok) asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(ba+8*st),"r"((k>>1)&1):"memory"); 
      if(t==0&&(long long)r+gridDim.x<rows) get(r+gridDim.x,st^1); }
    float q=0; for(int i=t;i<columns;i+=128) { if(bulk) q+=sy[st][i]*pd[i]; else q+=py[i]*pd[i]; }
    for(int o=16;o;o>>=1) q+=__shfl_xor_sync(~0u,q,o); if(t%32==0) s[st][t/32]=q; __syncthreads(); q=s[st][0]+s[st][1]+s[st][2]+s[st][3];
    for(int i=t;i<columns;i+=128) { if(bulk) dx[(size_t)r*columns+i]=sy[st][i]*(pd[i]-q); else dx[(size_t)r*columns+i]=py[i]*(pd[i]-q); } } }
