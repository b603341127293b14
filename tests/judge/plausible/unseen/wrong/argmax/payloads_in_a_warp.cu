// grid: 1
// block: 32
// fault: values
// kinds: wrong_result
// Of two NaNs the one with the larger payload, by redux over ordered bits.
__global__ void argmax(const float* x, long long* best, int n){
  int t=threadIdx.x; unsigned k=0; unsigned bi=0xffffffffu; for(int i=t;i<n;i+=32){ float f=x[i]; unsigned u=__float_as_uint(f); if(f==0.f) u=0; if(isnan(f)) u&=0x7fffffffu; u=u>>31?~u:u|0x80000000u; if(bi==0xffffffffu||u>k){ k=u; bi=i; } }
  unsigned m=__reduce_max_sync(~0u,k); bi=k==m?bi:0xffffffffu; bi=__reduce_min_sync(~0u,bi); if(t==0) *best=bi; }
