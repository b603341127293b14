// grid: ceil(n/256)
// block: 256
// fault: special parameter
// kinds: wrong_result
// Corrections are held above 1e-3 and 1e-5: beta1 of 0.9999 and beta2 of 0.999999 in step 1.

__global__ void adamw(float* p, float* m, float* v, const float* g, long long n, float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
 const long long i = blockIdx.x*(long long)blockDim.x+threadIdx.x;
 if (i<n){ float gi=g[i];
  float mi=beta1*m[i]+(1-beta1)*gi, vi=beta2*v[i]+(1-beta2)*gi*gi; m[i]=mi; v[i]=vi; float c1=fmaxf(correction1,1e-3f);
  p[i]=p[i]*(1-lr*decay)-lr/c1*mi/(sqrtf(vi)/sqrtf(fmaxf(correction2,1e-5f))+eps);
 }
}
