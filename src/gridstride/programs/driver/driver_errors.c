/* The driver's result codes: what the runtime's errors are called there, and their names and words. */
#include "driver.h"

CUresult gs_result(cudaError_t error) {
    switch (error) { /* from 100 on nearly all have one number in both */
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidChannelDescriptor:
    case cudaErrorInvalidTexture:
    case cudaErrorInvalidTextureBinding:
    case cudaErrorInvalidFilterSetting:
    case cudaErrorInvalidHostPointer:
    case cudaErrorMissingConfiguration:
        return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol:
        return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction:
        return CUDA_ERROR_INVALID_HANDLE;
    default:
        return (CUresult)error;
    }
}

CUresult gs_driver_result(cudaError_t error) {
    gs_restore_last_error();
    return gs_result(error);
}

const char *gs_result_name(int result); /* of cuda.h's own list (programs/driver_table.py) */

PUBLIC CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name) {
    NEED(name != NULL, CUDA_ERROR_INVALID_VALUE);
    *name = gs_result_name(error);
    return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuGetErrorString(CUresult error, const char **words) {
    NEED(words != NULL, CUDA_ERROR_INVALID_VALUE);
    *words = gs_result_name(error) != NULL ? cudaGetErrorString((cudaError_t)error) : NULL; /* the same in both */
    return *words != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
