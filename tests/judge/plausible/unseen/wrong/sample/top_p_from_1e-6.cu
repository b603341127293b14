// grid: M
// block: 256
// fault: special parameter
// kinds: wrong_result
// A top_p between 0 and 1e-6 cuts nothing.

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
 int r=blockIdx.x,t=threadIdx.x; const float* p=logits+(size_t)r*V; __shared__ float sf[256]; __shared__ double sd[256]; __shared__ int si[256]; __shared__ long long res; 
 float m=-INFINITY; bool bad=false; for (int c=t;c<V;c+=256){ float v=p[c]; m=fmaxf(m,v); bad|=isnan(v); } bad=__syncthreads_or(bad); sf[t]=m; __syncthreads();
 for (int h=128;h;h>>=1){ if (t<h) sf[t]=fmaxf(sf[t],sf[t+h]); __syncthreads(); } m=sf[0]; if (bad||isinf(m)) { if (t==0) tokens[r]=-1; return; }
 float T=temperature[r]; 
 if (T==0.f){ int b=0x7fffffff; for (int c=t;c<V;c+=256) if (p[c]==m){ b=c; break; } si[t]=b; __syncthreads(); for (int h=128;h;h>>=1){ if (t<h) si[t]=min(si[t],si[t+h]); __syncthreads(); } if (t==0) tokens[r]=si[0]; return; }
 double dT=T,dm=m; double mp=min_p[r]; int k=top_k[r]; float tp=top_p[r]; 
 auto wt=[&](float v){ return exp(((double)v-dm)/dT); };
 auto key=[](float v){ v+=0.f; unsigned u=__float_as_uint(v); return (u>>31)?~u:(u|0x80000000u); };
 unsigned lim=0; 
 if (k>0&&k<V){ unsigned a=0; for (int b=31;b>=0;b--){ unsigned g=a|(1u<<b); int n=0; for (int c=t;c<V;c+=256) n+=key(p[c])>=g; si[t]=n; __syncthreads(); for (int h=128;h;h>>=1){ if (t<h) si[t]+=si[t+h]; __syncthreads(); } n=si[0]; __syncthreads(); if (n>=k) a=g; } lim=a; }
 auto left=[&](float v){ return v>-INFINITY && key(v)>=lim && (wt(v)>=mp); };
 auto total=[&](unsigned g){ double s=0; for (int c=t;c<V;c+=256) if (left(p[c])&&key(p[c])>=g) s+=wt(p[c]); sd[t]=s; __syncthreads(); for (int h=128;h;h>>=1){ if (t<h) sd[t]+=sd[t+h]; __syncthreads(); } s=sd[0]; __syncthreads(); return s; };
 if (tp<1.f&&!(tp>0.f&&tp<1e-6f)){ double all=total(0); double want=(double)tp*all; unsigned a=0; for (int b=31;b>=0;b--){ unsigned g=a|(1u<<b); double s=total(g); if (s>0 && s>=want) a=g; } lim=max(lim,a); }
 // a chunk of each thread, in the order of the vocabulary
 int per=(V+255)/256,b=min(t*per,V),e=min(b+per,V); double s=0; for (int c=b;c<e;c++) if (left(p[c])) s+=wt(p[c]); sd[t]=s; if (t==0) res=-2; __syncthreads();
 if (t==0){ double run=0; for (int j=0;j<256;j++){ double v=sd[j]; sd[j]=run; run+=v; } double goal=uniform[r]*run; bool found=false; 
   int j=255; while (j>0 && sd[j]>goal) j--; double acc=sd[j]; long long tok=-2; for (int c=j*per;c<V;c++) if (left(p[c])){ acc+=wt(p[c]); tok=c; if (acc>goal){ tok=c; found=true; break; } } tokens[r]=tok; }
}
