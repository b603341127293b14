// grid: min(rows,2*SMS)
// block: 128
// needs: 9.0
// fault: bulk copies
// kinds: unwaited_copy wrong_result race
// Two stages and wait_group.read 2: the bulk store of two rows before may still read the stage that is filled.
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns){
  __shared__ alignas(16) float st[2][1024]; __shared__ float s[2][4]; int t=threadIdx.x,k=0; bool bulk=columns<=1024&&columns%4==0&&columns>0&&((size_t)dx&15)==0;
  for(int r=blockIdx.x;r<rows;r+=gridDim.x,k++){ const float* py=y+(size_t)r*columns; const float* pd=dy+(size_t)r*columns; float q=0; for(int i=t;i<columns;i+=128) q+=py[i]*pd[i];
    for(int o=16;o;o>>=1) q+=__shfl_xor_sync(~0u,q,o); if(t%32==0) s[k&1][t/32]=q; __syncthreads(); q=s[k&1][0]+s[k&1][1]+s[k&1][2]+s[k&1][3];
    if(!bulk){ for(int i=t;i<columns;i+=128) dx[(size_t)r*columns+i]=py[i]*(pd[i]-q); continue; }
    float* d=st[k%2]; if(t==0) asm volatile("cp.async.bulk.wait_group.read 2;":::"memory"); __syncthreads();
    for(int i=t;i<columns;i+=128) d[i]=py[i]*(pd[i]-q);
    asm volatile("fence.proxy.async.shared::cta;":::"memory"); __syncthreads();
    if(t==0){ asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;"::"l"(__cvta_generic_to_global(dx+(size_t)r*columns)),"r"((unsigned)__cvta_generic_to_shared(d)),"r"(columns*4):"memory"); asm volatile("cp.async.bulk.commit_group;":::"memory"); }
  }
  if(t==0) asm volatile("cp.async.bulk.wait_group 0;":::"memory"); }
