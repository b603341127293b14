// right: one block
// grid: 1
// block: 1024

__global__ void adamw(float* p, float* m, float* v, const float* g, long long n, float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{for (long long i=threadIdx.x;i<n;i+=1024){ float gi=g[i]; float mi=beta1*m[i]+(1-beta1)*gi, vi=beta2*v[i]+(1-beta2)*gi*gi; m[i]=mi; v[i]=vi; p[i]=p[i]*(1-lr*decay)-lr/correction1*mi/(sqrtf(vi)/sqrtf(correction2)+eps); }}
