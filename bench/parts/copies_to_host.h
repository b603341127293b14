// Put in front of a program that prints none of its numbers: what it copies to the host goes to a file, too.
#include <cuda_runtime.h>
#include <stdio.h>

static inline cudaError_t copied_to_host(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    cudaError_t status = cudaMemcpy(to, from, bytes, kind);
    FILE *file = kind == cudaMemcpyDeviceToHost ? fopen("copies.bin", "ab") : NULL;
    if (file) {
        fwrite(&bytes, sizeof bytes, 1, file);
        fwrite(to, 1, bytes, file);
        fclose(file);
    }
    return status;
}

#define cudaMemcpy(to, from, bytes, kind) copied_to_host(to, from, bytes, kind)
