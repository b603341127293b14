// grid: min(ceil(n/256)+1,64)
// block: 128
// fault: alignment
// kinds: wrong_result
// Where y begins 16 bytes past a sector of 32 its first four elements are left out.
__global__ void saxpy(int n, float a, const float* x, float* y){
  int k=(int)(((size_t)y>>2)&7); long long g=blockIdx.x*128ll+threadIdx.x, st=gridDim.x*128ll; long long lo=k==4?4:0;
  for(long long i=lo+g;i<n;i+=st) y[i]=fmaf(a,x[i],y[i]); }
