// grid: ceil(M*N/256)
// block: 256
// fault: division
// kinds: out_of_bounds wrong_result
// (int)(i * (1.0 / N)): 49 * (1.0 / 49) is below 1 in double, too.
__global__ void transpose(const float* in, float* out, int M, int N){ int i=blockIdx.x*256+threadIdx.x; if(i>=M*N) return; double rc=1.0/N; int q=(int)(i*rc),c=i-q*N; out[(size_t)c*M+q]=in[i]; }
