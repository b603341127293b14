/* Launches of the driver's: parameters by their addresses, or packed as the program has packed them. */
#include "driver.h"

enum { MOST_EXTRA = 8 };

static CUresult unpack(const KernelLayout *layout, void **extra, void ***arguments) {
    char *packed = NULL;
    const size_t *bytes = NULL;
    for (int i = 0; i < MOST_EXTRA && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            packed = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    NEED(packed != NULL && bytes != NULL, CUDA_ERROR_INVALID_VALUE);
    *arguments = calloc(layout->count + 1, sizeof **arguments);
    for (int64_t i = 0; i < layout->count; i++) {
        (*arguments)[i] = packed + layout->offsets[i];
        if (layout->offsets[i] + layout->sizes[i] > *bytes) {
            free(*arguments);
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

CUresult gs_arguments(const void *function, void **parameters, void **extra, void ***arguments) {
    Kernel *kernel;
    const KernelLayout *layout;
    NEED(function != NULL, CUDA_ERROR_INVALID_HANDLE);
    GIVE(gs_result(gs_kernel(function, &kernel)));
    GIVE(gs_result(gs_kernel_layout(kernel, &layout)));
    *arguments = NULL;
    if (extra == NULL)
        return layout->count == 0 || parameters != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    NEED(parameters == NULL, CUDA_ERROR_INVALID_VALUE);
    return unpack(layout, extra, arguments);
}

static CUresult launch(const cudaLaunchConfig_t *config, CUfunction function, void **parameters, void **extra) {
    void **unpacked;
    ENTER_DRIVER();
    GIVE(gs_arguments(function, parameters, extra, &unpacked));
    CUresult result = RUNTIME(cudaLaunchKernelExC(config, function, unpacked != NULL ? unpacked : parameters));
    free(unpacked);
    return result;
}

PUBLIC CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                       CUstream stream, void **parameters, void **extra) {
    cudaLaunchConfig_t config = {.gridDim = {grid_x, grid_y, grid_z}, .blockDim = {block_x, block_y, block_z},
                                 .dynamicSmemBytes = shared, .stream = stream};
    return launch(&config, function, parameters, extra);
}

PUBLIC CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                                  unsigned block_z, unsigned shared, CUstream stream,
                                                  void **parameters) {
    cudaLaunchAttribute together = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    cudaLaunchConfig_t config = {.gridDim = {grid_x, grid_y, grid_z}, .blockDim = {block_x, block_y, block_z},
                                 .dynamicSmemBytes = shared, .stream = stream, .attrs = &together, .numAttrs = 1};
    return launch(&config, function, parameters, NULL);
}

/* The launch attributes are the runtime's, by number and by layout. */
static cudaLaunchConfig_t as_runtime(const CUlaunchConfig *config) {
    return (cudaLaunchConfig_t){.gridDim = {config->gridDimX, config->gridDimY, config->gridDimZ},
                                .blockDim = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                .dynamicSmemBytes = config->sharedMemBytes, .stream = config->hStream,
                                .attrs = (cudaLaunchAttribute *)config->attrs, .numAttrs = config->numAttrs};
}

PUBLIC CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                         void **extra) {
    NEED(config != NULL && (config->numAttrs == 0 || config->attrs != NULL), CUDA_ERROR_INVALID_VALUE);
    cudaLaunchConfig_t same = as_runtime(config);
    return launch(&same, function, parameters, extra);
}

/* -- occupancy ----------------------------------------------------------------------------------------------------- */
PUBLIC CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *count, CUfunction function, const CUlaunchConfig *config) {
    ENTER_DRIVER();
    NEED(config != NULL, CUDA_ERROR_INVALID_VALUE);
    cudaLaunchConfig_t same = as_runtime(config);
    return RUNTIME(cudaOccupancyMaxActiveClusters(count, function, &same));
}

PUBLIC CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
                                                           const CUlaunchConfig *config) {
    ENTER_DRIVER();
    NEED(config != NULL, CUDA_ERROR_INVALID_VALUE);
    cudaLaunchConfig_t same = as_runtime(config);
    return RUNTIME(cudaOccupancyMaxPotentialClusterSize(size, function, &same));
}

/* The block with which most threads of a multiprocessor are busy; of equal ones the largest, as cuda_occupancy.h has. */
PUBLIC CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                                  CUoccupancyB2DSize shared_of, size_t shared,
                                                                  int limit, unsigned flags) {
    int most, most_busy = 0;
    ENTER_DRIVER();
    NEED(grid != NULL && block != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    int warp = (int)gs_attribute(cudaDevAttrWarpSize);
    if (limit > 0 && limit < most)
        most = limit;
    for (int size = (most + warp - 1) / warp * warp; size > 0; size -= warp) {
        int blocks, threads = size < most ? size : most;
        size_t dynamic = shared_of != NULL ? shared_of(threads) : shared;
        GIVE(RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, threads, dynamic, flags)));
        if (blocks * threads > most_busy) {
            most_busy = blocks * threads;
            *block = threads, *grid = blocks * (int)gs_attribute(cudaDevAttrMultiProcessorCount);
        }
    }
    return most_busy > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                                         CUoccupancyB2DSize shared_of, size_t shared, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}
