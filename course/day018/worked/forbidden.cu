// forbidden: a capture in which the host waits.

#include <cstdio>

__global__ void count_up(int* x) { *x += 1; }

void report(const char* what, cudaError_t code)
{
    printf("%-24s %s\n", what, cudaGetErrorString(code));
}

int main()
{
    int *x, now = 0;
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    if (cudaMalloc(&x, sizeof(int)) || cudaMemset(x, 0, sizeof(int)) ||
        cudaStreamCreate(&stream))
        return 1;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    count_up<<<1, 1, 0, stream>>>(x);
    report("launch", cudaGetLastError());
    report("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    count_up<<<1, 1, 0, stream>>>(x);
    report("next launch", cudaGetLastError());
    report("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
    cudaGetLastError();  // what has been reported is put aside
    report("cudaMemcpy afterwards",
           cudaMemcpy(&now, x, sizeof now, cudaMemcpyDeviceToHost));
    printf("x is %d\n", now);
    cudaFree(x);
    return 0;
}
