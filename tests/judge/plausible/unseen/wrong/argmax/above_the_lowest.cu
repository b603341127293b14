// grid: 1
// block: 256
// fault: values
// kinds: wrong_result
// The search begins at -FLT_MAX: of -Inf and -FLT_MAX it finds the first, whichever that is.

__global__ void argmax(const float* x, long long* best, int n)
{
 __shared__ float sv[256]; __shared__ long long si[256]; int t=threadIdx.x;
 float bv=-3.402823466e38f; long long bi=t < n ? t : 0;
 for (long long i=t;i<n;i+=256){ float v=x[i]; if (v>bv || (isnan(v)&&!isnan(bv))) {bv=v;bi=i;} }
 sv[t]=bv; si[t]=bi; __syncthreads();
 for (int h=128;h;h>>=1){ if (t<h){ float v=sv[t+h], u=sv[t]; long long vi=si[t+h], ui=si[t];
   bool take = isnan(v) ? (!isnan(u) || vi<ui) : (!isnan(u) && (v>u || (v==u && vi<ui)));
   if (take){sv[t]=v;si[t]=vi;} } __syncthreads(); }
 if (t==0) best[0]=si[0];
}
