/* Launches: what <<<>>> pushes and pops, and parameters packed as the kernel's PTX declares them. */
#include <signal.h>

#include "graphs.h"

typedef struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    const void *site; /* of the <<<>>> */
} Configuration;

static _Thread_local int interrupted;
PUBLIC void gs_interrupt_behind_launch(void) { interrupted = 1; }

enum { DEPTH = 16 };
static _Thread_local Configuration pushed[DEPTH]; /* an argument of a launch may launch too */
static _Thread_local int depth;

PUBLIC unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
    if (depth == DEPTH)
        return 1;
    pushed[depth++] = (Configuration){grid, block, shared, stream, __builtin_return_address(0)};
    return 0;
}

PUBLIC cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    CHECK(depth > 0, cudaErrorMissingConfiguration);
    Configuration top = pushed[--depth];
    *grid = top.grid, *block = top.block, *shared = top.shared;
    *(cudaStream_t *)stream = top.stream;
    gs_launch_configured(top.site);
    return cudaSuccess;
}

static int64_t product(dim3 size) { return (int64_t)size.x * size.y * size.z; }

cudaError_t gs_check_launch(const Kernel *kernel, const KernelLayout *layout, dim3 grid, dim3 block, size_t shared) {
    static const int block_limits[3] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
    static const int grid_limits[3] = {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ};
    const unsigned blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
    for (int axis = 0; axis < 3; axis++)
        if (blocks[axis] == 0 || blocks[axis] > gs_attribute(grid_limits[axis]) || threads[axis] == 0 ||
            threads[axis] > gs_attribute(block_limits[axis]))
            return cudaErrorInvalidConfiguration;
    if (product(block) > gs_attribute(cudaDevAttrMaxThreadsPerBlock))
        return cudaErrorInvalidConfiguration;
    if (product(block) > layout->max_threads)
        return cudaErrorInvalidValue; /* above __launch_bounds__ */
    int64_t most = gs_attribute(cudaDevAttrMaxSharedMemoryPerBlock) - layout->static_shared;
    if (gs_max_dynamic(kernel) > most)
        most = gs_max_dynamic(kernel);
    return (int64_t)shared <= most ? cudaSuccess : cudaErrorInvalidValue;
}

/* As asked for, else as the kernel was compiled for. */
static int64_t cluster_size(const KernelLayout *layout, dim3 cluster) {
    return product(cluster) != 0 ? product(cluster) : layout->cluster[0] * layout->cluster[1] * layout->cluster[2];
}

_Thread_local int64_t gs_node_partition;

cudaError_t gs_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, int cooperative,
                      dim3 cluster, cudaStream_t stream) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    TRY(gs_check_launch(kernel, layout, grid, block, shared));
    CHECK(cluster_size(layout, cluster) <= gs_most_cluster(kernel), cudaErrorInvalidClusterSize);
    CHECK(layout->count == 0 || arguments != NULL, cudaErrorInvalidValue);
    char few[4096], *packed = layout->bytes > (int64_t)sizeof few ? malloc(layout->bytes) : few;
    memset(packed, 0, layout->bytes);
    for (int64_t i = 0; i < layout->count; i++)
        memcpy(packed + layout->offsets[i], arguments[i], layout->sizes[i]);
    Launch order = {.kernel = layout->number, .cooperative = cooperative, .shared = shared,
                    .grid = {grid.x, grid.y, grid.z}, .block = {block.x, block.y, block.z},
                    .cluster = {cluster.x, cluster.y, cluster.z}, .parameters = packed, .bytes = layout->bytes,
                    .partition = gs_node_partition != 0 ? gs_node_partition - 1 : gs_partition(stream),
                    .stream = gs_stream_number(stream), .device = gs_current()};
    cudaError_t error = gs_board.launch(&order);
    if (interrupted) { /* in Python, which ended the kernel; nothing may be raised into C, so it is said again here */
        interrupted = 0;
        raise(SIGINT);
    }
    if (packed != few)
        free(packed);
    return gs_error(error);
}

static cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream, int cooperative, dim3 cluster) {
    CHECK(gs_is_stream(stream) && gs_stream_device(stream) == gs_current(), gs_no_stream(stream));
    if (!gs_capturing(stream)) {
        TRY(gs_may_use(stream));
        return gs_launch(function, grid, block, arguments, shared, cooperative, cluster, stream);
    }
    ENTER();
    struct cudaGraphNodeParams does = {
        .type = cudaGraphNodeTypeKernel,
        .kernel = {.func = (void *)function, .gridDim = grid, .blockDim = block, .sharedMemBytes = shared,
                   .kernelParams = arguments}};
    return gs_error(gs_capture_kernel(stream, &does, cooperative, cluster));
}

static const dim3 none = {0, 0, 0};

PUBLIC cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    cudaStream_t stream) {
    if (gs_board.watches)
        gs_begin_call("launch", __builtin_return_address(0), function);
    return launch(function, grid, block, arguments, shared, stream, 0, none);
}

PUBLIC cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                      cudaStream_t stream) {
    if (gs_board.watches)
        gs_begin_call("launch", __builtin_return_address(0), (const void *)kernel);
    return launch((const void *)kernel, grid, block, arguments, shared, stream, 0, none);
}

PUBLIC cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                               size_t shared, cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared, stream, 1, none);
}

PUBLIC cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    CHECK(config != NULL, cudaErrorInvalidValue);
    int cooperative = 0;
    dim3 cluster = none;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *each = &config->attrs[i];
        if (each->id == cudaLaunchAttributeCooperative)
            cooperative = each->val.cooperative;
        else if (each->id == cudaLaunchAttributeClusterDimension)
            cluster.x = each->val.clusterDim.x, cluster.y = each->val.clusterDim.y, cluster.z = each->val.clusterDim.z;
        /* the others say what may overlap or where data should stay: launches end before the next one begins */
    }
    return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                  cooperative, cluster);
}

PUBLIC cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        CHECK(value >= 0 && value + layout->static_shared <= gs_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
              cudaErrorInvalidValue);
        gs_set_max_dynamic(kernel, value);
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        CHECK(value >= -1 && value <= 100, cudaErrorInvalidValue);
        gs_set_carveout(kernel, value);
        return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        gs_allow_any_cluster(kernel, value);
        return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaSuccess;
    default:
        return gs_error(cudaErrorInvalidValue);
    }
}

PUBLIC cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
    ENTER();
    Kernel *kernel;
    TRY(gs_kernel(function, &kernel));
    CHECK(config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual, cudaErrorInvalidValue);
    return cudaSuccess; /* caches are the chip's own */
}

PUBLIC cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    CHECK(attributes != NULL, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    memset(attributes, 0, sizeof *attributes);
    int64_t usual = gs_attribute(cudaDevAttrMaxSharedMemoryPerBlock) - layout->static_shared;
    int version = 10 * gs_attribute(cudaDevAttrComputeCapabilityMajor) + gs_attribute(cudaDevAttrComputeCapabilityMinor);
    attributes->sharedSizeBytes = layout->static_shared;
    attributes->constSizeBytes = layout->constants;
    attributes->localSizeBytes = layout->local;
    attributes->maxThreadsPerBlock = layout->max_threads;
    attributes->numRegs = gs_board.registers(layout->number);
    attributes->ptxVersion = attributes->binaryVersion = version;
    attributes->maxDynamicSharedSizeBytes = gs_max_dynamic(kernel) > usual ? gs_max_dynamic(kernel) : usual;
    attributes->preferredShmemCarveout = gs_carveout(kernel);
    attributes->clusterDimMustBeSet = layout->cluster[0] != 0;
    attributes->nonPortableClusterSizeAllowed = gs_most_cluster(kernel) > PORTABLE_CLUSTER;
    attributes->requiredClusterWidth = layout->cluster[0];
    attributes->requiredClusterHeight = layout->cluster[1];
    attributes->requiredClusterDepth = layout->cluster[2];
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size) {
    Kernel *kernel;
    const KernelLayout *layout;
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    CHECK(offset != NULL && (int64_t)index < layout->count, cudaErrorInvalidValue);
    *offset = layout->offsets[index];
    if (size != NULL)
        *size = layout->sizes[index];
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                          int threads, size_t dynamic, unsigned flags) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    CHECK(blocks != NULL && threads > 0 && flags <= cudaOccupancyDisableCachingOverride, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    *blocks = gs_board.active_blocks(layout->number, threads, dynamic);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                                 size_t dynamic) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic, 0);
}

PUBLIC cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, const void *function, int blocks,
                                                             int threads) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    CHECK(dynamic != NULL && blocks > 0 && threads > 0, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    int64_t each = gs_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks -
                   gs_attribute(cudaDevAttrReservedSharedMemoryPerBlock) - layout->static_shared;
    int64_t most = gs_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - layout->static_shared;
    *dynamic = each < 0 ? 0 : each < most ? each : most;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                        const cudaLaunchConfig_t *config) {
    ENTER();
    Kernel *kernel;
    CHECK(size != NULL && config != NULL, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    *size = (int)gs_most_cluster(kernel);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxActiveClusters(int *count, const void *function, const cudaLaunchConfig_t *config) {
    ENTER();
    Kernel *kernel;
    const KernelLayout *layout;
    CHECK(count != NULL && config != NULL, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    int64_t blocks = 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            blocks = (int64_t)config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                     config->attrs[i].val.clusterDim.z;
    *count = gs_board.active_clusters(layout->number, product(config->blockDim), config->dynamicSmemBytes, blocks,
                                       gs_partition(config->stream));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncGetParamCount(const void *function, size_t *count) {
    Kernel *kernel;
    const KernelLayout *layout;
    CHECK(count != NULL, cudaErrorInvalidValue);
    TRY(gs_kernel(function, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    *count = layout->count;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                                   int device) {
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    int before = gs_current();
    gs_make_current(device);
    cudaError_t error = cudaFuncSetAttribute((const void *)kernel, attribute, value);
    gs_make_current(before);
    return error;
}
