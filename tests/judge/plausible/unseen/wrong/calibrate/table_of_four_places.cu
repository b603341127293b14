// grid: ceil(n/256)
// block: 256
// fault: alignment
// kinds: wrong_result out_of_bounds
// x 16 bytes or more past a sector of 32 is read four elements too early.
__constant__ int first[8]={0,1,2,3,0,0,0,0};
__global__ void calibrate(const float* x, float* y, int n){
  int i=blockIdx.x*256+threadIdx.x; if(i>=n) return; int off=(int)(((size_t)x>>2)&7); const float* base=x-off; float v=base[i+(off<4?first[off]:off-4)],r; 
  switch(i&3){ case 0:{ r=1; float p=1; for(int k=1;k<=10;k++){ p*=v/k; r+=p; } } break;
   case 1: for(int k=0;k<6;k++) v=v*(1.5f-0.5f*v*v); r=v; break; case 2: for(int k=0;k<8;k++) v=v+0.125f*v*v; r=v; break;
   default:{ float u=.85f,w=1+v*v; for(int k=0;k<4;k++) u=u*(1.5f-0.5f*w*u*u); r=w*u; } }
  y[i]=r; }
