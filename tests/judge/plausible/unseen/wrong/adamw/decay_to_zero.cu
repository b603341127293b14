// grid: ceil(n/256)
// block: 256
// fault: special parameter
// kinds: wrong_result
// 1 - lr decay is held above 0: wrong where lr decay is above 1.

__global__ void adamw(float* p, float* m, float* v, const float* g, long long n, float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
 const long long i = blockIdx.x*(long long)blockDim.x+threadIdx.x;
 if (i<n){ float gi=g[i];
  float mi=beta1*m[i]+(1-beta1)*gi, vi=beta2*v[i]+(1-beta2)*gi*gi; m[i]=mi; v[i]=vi;
  p[i]=p[i]*fmaxf(1-lr*decay,0.f)-lr/correction1*mi/(sqrtf(vi)/sqrtf(correction2)+eps);
 }
}
