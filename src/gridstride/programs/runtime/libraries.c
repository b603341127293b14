/* Code that the program loads while it runs, and the driver's functions: by the driver's own calls. Its results have the
 * numbers of the runtime's errors.
 */
#include "driver.h"

static cudaError_t as_error(CUresult result) { return gs_error((cudaError_t)result); }

PUBLIC cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options,
                                       void **values, unsigned count, enum cudaLibraryOption *library_options,
                                       void **library_values, unsigned library_count) {
    ENTER();
    return as_error(cuLibraryLoadData((CUlibrary *)library, code, (CUjit_option *)options, values, count,
                                      (CUlibraryOption *)library_options, library_values, library_count));
}

PUBLIC cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *options,
                                           void **values, unsigned count, enum cudaLibraryOption *library_options,
                                           void **library_values, unsigned library_count) {
    ENTER();
    return as_error(cuLibraryLoadFromFile((CUlibrary *)library, path, (CUjit_option *)options, values, count,
                                          (CUlibraryOption *)library_options, library_values, library_count));
}

PUBLIC cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    ENTER();
    return as_error(cuLibraryUnload((CUlibrary)library));
}

PUBLIC cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    ENTER();
    return as_error(cuLibraryGetKernel((CUkernel *)kernel, (CUlibrary)library, name));
}

PUBLIC cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library) {
    ENTER();
    return as_error(cuLibraryGetKernelCount(count, (CUlibrary)library));
}

PUBLIC cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned room, cudaLibrary_t library) {
    ENTER();
    return as_error(cuLibraryEnumerateKernels((CUkernel *)kernels, room, (CUlibrary)library));
}

PUBLIC cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library, const char *name) {
    ENTER();
    return as_error(cuLibraryGetGlobal((CUdeviceptr *)address, bytes, (CUlibrary)library, name));
}

PUBLIC cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library, const char *name) {
    ENTER();
    return as_error(cuLibraryGetManaged((CUdeviceptr *)address, bytes, (CUlibrary)library, name));
}

PUBLIC cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                                    unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *status) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    ENTER();
    CUresult result = cuGetProcAddress(symbol, function, (int)version, flags, &found);
    if (result == CUDA_ERROR_NOT_FOUND)
        result = CUDA_SUCCESS; /* the status says so */
    if (result == CUDA_SUCCESS && status != NULL)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return as_error(result);
}

PUBLIC cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                           enum cudaDriverEntryPointQueryResult *status) {
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
