// The same two arrays, handed to the library in three ways: as the formula reads, with both transposed, and swapped.

#include <cublas_v2.h>

#include <cstdio>

#define CHECK(call)                                                  \
    if (const int code = (call)) {                                   \
        fprintf(stderr, "%s: error %d\n", #call, code);              \
        return 1;                                                    \
    }

int main()
{
    const float A[2][2] = {{1, 2}, {3, 4}};
    const float B[2][2] = {{5, 6}, {7, 8}};
    const int n = 2;
    float C[3][2][2];

    float *a, *b, *c;
    CHECK(cudaMalloc(&a, sizeof(A)));
    CHECK(cudaMalloc(&b, sizeof(B)));
    CHECK(cudaMalloc(&c, sizeof(C)));
    CHECK(cudaMemcpy(a, A, sizeof(A), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, B, sizeof(B), cudaMemcpyHostToDevice));

    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    const float alpha = 1, beta = 0;
    const cublasOperation_t N = CUBLAS_OP_N, T = CUBLAS_OP_T;
    CHECK(cublasSgemm(handle, N, N, n, n, n, &alpha, a, n, b, n, &beta,
                      c, n));
    CHECK(cublasSgemm(handle, T, T, n, n, n, &alpha, a, n, b, n, &beta,
                      c + 4, n));
    CHECK(cublasSgemm(handle, N, N, n, n, n, &alpha, b, n, a, n, &beta,
                      c + 8, n));
    CHECK(cudaMemcpy(C, c, sizeof(C), cudaMemcpyDeviceToHost));

    const char* how[] = {"N N, A B", "T T, A B", "N N, B A"};
    for (int w = 0; w < 3; w++) {
        printf("%s:  %2g %2g\n", how[w], C[w][0][0], C[w][0][1]);
        printf("           %2g %2g\n", C[w][1][0], C[w][1][1]);
    }
    CHECK(cublasDestroy(handle));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    return 0;
}
