/* Memory of the driver's: where its calls ask for something else than the runtime's, or by a number instead of a pointer. */
#include "driver.h"
#include "graphs.h"

PUBLIC CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    ENTER_DRIVER();
    NEED(address != NULL && bytes != 0, CUDA_ERROR_INVALID_VALUE);
    return RUNTIME(cudaMalloc((void **)address, bytes));
}

PUBLIC CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                        unsigned element) {
    ENTER_DRIVER();
    NEED(address != NULL && pitch != NULL && width != 0 && height != 0, CUDA_ERROR_INVALID_VALUE);
    NEED(element == 4 || element == 8 || element == 16, CUDA_ERROR_INVALID_VALUE);
    return RUNTIME(cudaMallocPitch((void **)address, pitch, width, height));
}

PUBLIC CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
    ENTER_DRIVER();
    NEED(address != NULL && bytes != 0, CUDA_ERROR_INVALID_VALUE);
    flags = flags == CU_MEM_ATTACH_SINGLE ? CU_MEM_ATTACH_HOST : flags;
    return RUNTIME(cudaMallocManaged((void **)address, bytes, flags));
}

PUBLIC CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *start, size_t *bytes, CUdeviceptr address) {
    Block block;
    ENTER_DRIVER();
    NEED(gs_block((void *)address, &block), CUDA_ERROR_NOT_FOUND);
    if (start != NULL)
        *start = block.start;
    if (bytes != NULL)
        *bytes = block.bytes;
    return CUDA_SUCCESS;
}

/* -- copies -------------------------------------------------------------------------------------------------------- */
static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum cudaMemcpyKind kind) {
    ENTER_DRIVER();
    return RUNTIME(cudaMemcpy((void *)to, (const void *)from, bytes, kind));
}

static CUresult copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum cudaMemcpyKind kind, CUstream stream) {
    ENTER_DRIVER();
    return RUNTIME(cudaMemcpyAsync((void *)to, (const void *)from, bytes, kind, stream));
}

PUBLIC CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                                           CUmemcpyAttributes *attributes, size_t *first, size_t kinds,
                                           CUstream stream) {
    ENTER_DRIVER();
    return RUNTIME(cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, bytes, count,
                                        (struct cudaMemcpyAttributes *)attributes, first, kinds, stream));
}

#define NUMBER(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

PUBLIC CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(to, from, bytes, cudaMemcpyDefault);
}

PUBLIC CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_async(to, from, bytes, cudaMemcpyDefault, stream);
}

PUBLIC CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    return copy(to, NUMBER(from), bytes, cudaMemcpyHostToDevice);
}

PUBLIC CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    return copy_async(to, NUMBER(from), bytes, cudaMemcpyHostToDevice, stream);
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    return copy(NUMBER(to), from, bytes, cudaMemcpyDeviceToHost);
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_async(NUMBER(to), from, bytes, cudaMemcpyDeviceToHost, stream);
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_async(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

PUBLIC CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t bytes) {
    ENTER_DRIVER();
    NEED(gs_is_context(there) && gs_is_context(here), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaMemcpyPeer((void *)to, there->device, (const void *)from, here->device, bytes));
}

PUBLIC CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                                          size_t bytes, CUstream stream) {
    ENTER_DRIVER();
    NEED(gs_is_context(there) && gs_is_context(here), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaMemcpyPeerAsync((void *)to, there->device, (const void *)from, here->device, bytes, stream));
}

/* -- fills: of elements of one, two or four bytes ------------------------------------------------------------------ */
static CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
                     CUstream stream, int waits) {
    ENTER_DRIVER();
    NEED(gs_is_stream(stream), gs_result(gs_no_stream(stream)));
    if (width * height == 0)
        return CUDA_SUCCESS;
    NEED(to != 0 && to % element == 0 && pitch % element == 0, CUDA_ERROR_INVALID_VALUE);
    struct cudaGraphNodeParams does = {.type = cudaGraphNodeTypeMemset,
                                       .memset = {.dst = (void *)to, .pitch = pitch, .value = value,
                                                  .elementSize = element, .width = width, .height = height}};
    if (!waits && gs_capturing(stream))
        return RUNTIME(gs_capture(stream, &does));
    return RUNTIME(gs_fill_rows(&does.memset, stream));
}

#define FILLS(bits, type) \
    PUBLIC CUresult CUDAAPI cuMemsetD##bits(CUdeviceptr to, type value, size_t count) { \
        return fill(to, 0, value, bits / 8, count, 1, NULL, 1); \
    } \
    PUBLIC CUresult CUDAAPI cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) { \
        return fill(to, 0, value, bits / 8, count, 1, stream, 0); \
    } \
    PUBLIC CUresult CUDAAPI cuMemsetD2D##bits(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) { \
        return fill(to, pitch, value, bits / 8, width, height, NULL, 1); \
    } \
    PUBLIC CUresult CUDAAPI cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, \
                                                     size_t height, CUstream stream) { \
        return fill(to, pitch, value, bits / 8, width, height, stream, 0); \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)

/* -- questions about an address ------------------------------------------------------------------------------------ */
static CUresult attribute_of(const Block *block, CUdeviceptr address, CUpointer_attribute attribute, void *value) {
    CUdeviceptr seen = block->device + (address - block->start);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)value = block->context != NULL ? (CUcontext)block->context : gs_primary(block->owner);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = block->kind == GS_PINNED || block->kind == GS_REGISTERED ? CU_MEMORYTYPE_HOST
                                                                                     : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = seen;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        NEED(block->kind != GS_DEVICE, CUDA_ERROR_INVALID_VALUE);
        *(void **)value = (void *)address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)value = block->start;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)value = block->kind == GS_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned *)value = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)value = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = block->owner;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)value = block->start;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)value = block->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)value = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)value = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

PUBLIC CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    Block block;
    ENTER_DRIVER();
    NEED(value != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL,
         CUDA_ERROR_INVALID_VALUE);
    NEED(gs_block((void *)address, &block), CUDA_ERROR_INVALID_VALUE);
    return attribute_of(&block, address, attribute, value);
}

/* What is not known of an address is 0, and no error. */
PUBLIC CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                               CUdeviceptr address) {
    Block block;
    ENTER_DRIVER();
    NEED(count > 0 && attributes != NULL && values != NULL, CUDA_ERROR_INVALID_VALUE);
    int known = gs_block((void *)address, &block);
    for (unsigned i = 0; i < count; i++) {
        NEED(values[i] != NULL, CUDA_ERROR_INVALID_VALUE);
        if (!known || attribute_of(&block, address, attributes[i], values[i]) != CUDA_SUCCESS)
            memset(values[i], 0, attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ? sizeof(void *) : sizeof(unsigned));
    }
    return CUDA_SUCCESS;
}
