// right: modulo by a double reciprocal
// grid: ceil(N*H*32/256)
// block: 256

__global__ void rotary(const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
 long long i=blockIdx.x*256LL+threadIdx.x; if (i>=(long long)N*H*32) return; int d=i%32; long long hd=i/32; int n=hd/H; int c=n-(int)(n*(1.0/C)+1e-9)*C; 
 float cs=cosine[(size_t)c*(32+gap)+d],sn=direction*sine[(size_t)c*(32+gap)+d]; float lo=x[hd*64+d],hi=x[hd*64+32+d];
 y[hd*64+d]=lo*cs-hi*sn; y[hd*64+32+d]=hi*cs+lo*sn;
}
