/* Arrays and copies of boxes: the driver's records as the runtime's. */
#include "driver.h"

struct cudaChannelFormatDesc gs_format(CUarray_format format, unsigned channels) {
    static const struct { CUarray_format format; int bits; enum cudaChannelFormatKind kind; } known[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
        {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
        {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
        {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
        {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
        {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
        {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
        {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].format == format && (channels == 1 || channels == 2 || channels == 4)) {
            int bits = known[i].bits;
            return cudaCreateChannelDesc(bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0,
                                         known[i].kind);
        }
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone); /* which no call of the runtime takes */
}

CUarray_format gs_format_of(struct cudaChannelFormatDesc desc) {
    switch (desc.f) {
    case cudaChannelFormatKindFloat:
        return desc.x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
    case cudaChannelFormatKindSigned:
        return desc.x == 8 ? CU_AD_FORMAT_SIGNED_INT8 : desc.x == 16 ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_SIGNED_INT32;
    default:
        return desc.x == 8    ? CU_AD_FORMAT_UNSIGNED_INT8
               : desc.x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16
                              : CU_AD_FORMAT_UNSIGNED_INT32;
    }
}

unsigned gs_channels_of(struct cudaChannelFormatDesc desc) {
    return (desc.x != 0) + (desc.y != 0) + (desc.z != 0) + (desc.w != 0);
}

size_t gs_texel_bytes(cudaArray_const_t array) {
    struct cudaChannelFormatDesc desc;
    cudaArrayGetInfo(&desc, NULL, NULL, (cudaArray_t)array);
    return (desc.x + desc.y + desc.z + desc.w) / 8;
}

PUBLIC CUresult CUDAAPI cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    ENTER_DRIVER();
    NEED(array != NULL && d != NULL && d->Width != 0, CUDA_ERROR_INVALID_VALUE);
    struct cudaChannelFormatDesc format = gs_format(d->Format, d->NumChannels);
    return RUNTIME(cudaMalloc3DArray((cudaArray_t *)array, &format, make_cudaExtent(d->Width, d->Height, d->Depth),
                                     d->Flags));
}

PUBLIC CUresult CUDAAPI cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d) {
    NEED(d != NULL, CUDA_ERROR_INVALID_VALUE);
    return cuArray3DCreate(array, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = d->Width, .Height = d->Height,
                                                            .Format = d->Format, .NumChannels = d->NumChannels});
}

PUBLIC CUresult CUDAAPI cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array) {
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent;
    unsigned flags;
    ENTER_DRIVER();
    NEED(d != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaArrayGetInfo(&format, &extent, &flags, ARRAY(array))));
    *d = (CUDA_ARRAY3D_DESCRIPTOR){extent.width, extent.height, extent.depth, gs_format_of(format), gs_channels_of(format),
                                   flags};
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *d, CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR all;
    NEED(d != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(cuArray3DGetDescriptor(&all, array));
    *d = (CUDA_ARRAY_DESCRIPTOR){all.Width, all.Height, all.Format, all.NumChannels};
    return CUDA_SUCCESS;
}

static CUresult freed(CUresult result) { return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_INVALID_HANDLE : result; }

PUBLIC CUresult CUDAAPI cuArrayDestroy(CUarray array) {
    ENTER_DRIVER();
    NEED(array != NULL, CUDA_ERROR_INVALID_HANDLE);
    return freed(RUNTIME(cudaFreeArray(ARRAY(array))));
}

PUBLIC CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                               unsigned levels) {
    ENTER_DRIVER();
    NEED(array != NULL && d != NULL, CUDA_ERROR_INVALID_VALUE);
    struct cudaChannelFormatDesc format = gs_format(d->Format, d->NumChannels);
    return RUNTIME(cudaMallocMipmappedArray((cudaMipmappedArray_t *)array, &format,
                                            make_cudaExtent(d->Width, d->Height, d->Depth), levels, d->Flags));
}

PUBLIC CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray array) {
    ENTER_DRIVER();
    NEED(array != NULL, CUDA_ERROR_INVALID_HANDLE);
    return freed(RUNTIME(cudaFreeMipmappedArray(MIPMAP(array))));
}

PUBLIC CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned number) {
    ENTER_DRIVER();
    return RUNTIME(cudaGetMipmappedArrayLevel((cudaArray_t *)level, MIPMAP(array), number));
}

/* -- copies of boxes ----------------------------------------------------------------------------------------------- */
typedef struct {
    size_t x, y, z;
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch, height;
} Box;

static CUresult side_of(const Box *box, size_t width, size_t rows, cudaArray_t *array, struct cudaPos *position,
                        struct cudaPitchedPtr *pointer) {
    *position = make_cudaPos(box->x, box->y, box->z);
    if (box->type == CU_MEMORYTYPE_ARRAY) {
        NEED(box->array != NULL, CUDA_ERROR_INVALID_HANDLE);
        *array = ARRAY(box->array);
        position->x /= gs_texel_bytes(*array);
        return CUDA_SUCCESS;
    }
    const void *start = box->type == CU_MEMORYTYPE_HOST ? box->host : (const void *)box->device;
    NEED(start != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(box->pitch == 0 || box->pitch >= box->x + width, CUDA_ERROR_INVALID_VALUE);
    size_t pitch = box->pitch ? box->pitch : box->x + width;
    *pointer = make_cudaPitchedPtr((void *)start, pitch, pitch, box->height ? box->height : box->y + rows);
    return CUDA_SUCCESS;
}

CUresult gs_box_copy(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *as) {
    Box from = {c->srcXInBytes, c->srcY, c->srcZ, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcPitch,
                c->srcHeight};
    Box to = {c->dstXInBytes, c->dstY, c->dstZ, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstPitch,
              c->dstHeight};
    NEED(from.type >= CU_MEMORYTYPE_HOST && from.type <= CU_MEMORYTYPE_UNIFIED, CUDA_ERROR_INVALID_VALUE);
    NEED(to.type >= CU_MEMORYTYPE_HOST && to.type <= CU_MEMORYTYPE_UNIFIED, CUDA_ERROR_INVALID_VALUE);
    *as = (struct cudaMemcpy3DParms){.kind = cudaMemcpyDefault};
    GIVE(side_of(&from, c->WidthInBytes, c->Height, &as->srcArray, &as->srcPos, &as->srcPtr));
    GIVE(side_of(&to, c->WidthInBytes, c->Height, &as->dstArray, &as->dstPos, &as->dstPtr));
    cudaArray_t array = as->srcArray != NULL ? as->srcArray : as->dstArray;
    as->extent = make_cudaExtent(c->WidthInBytes / (array != NULL ? gs_texel_bytes(array) : 1), c->Height, c->Depth);
    return CUDA_SUCCESS;
}

static CUresult copy_box(const CUDA_MEMCPY3D *c, CUstream stream, int waits) {
    struct cudaMemcpy3DParms same;
    ENTER_DRIVER();
    NEED(c != NULL, CUDA_ERROR_INVALID_VALUE);
    if (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0)
        return CUDA_SUCCESS;
    GIVE(gs_box_copy(c, &same));
    return waits ? RUNTIME(cudaMemcpy3D(&same)) : RUNTIME(cudaMemcpy3DAsync(&same, stream));
}

PUBLIC CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D *copy) { return copy_box(copy, NULL, 1); }

PUBLIC CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream) { return copy_box(copy, stream, 0); }

static CUDA_MEMCPY3D of_2d(const CUDA_MEMCPY2D *c) {
    return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch, .dstXInBytes = c->dstXInBytes, .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost, .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray, .dstPitch = c->dstPitch, .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height, .Depth = 1};
}

PUBLIC CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *copy) {
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D same = of_2d(copy);
    return copy_box(&same, NULL, 1);
}

PUBLIC CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy) { return cuMemcpy2D(copy); }

PUBLIC CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D same = of_2d(copy);
    return copy_box(&same, stream, 0);
}

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream, int waits) {
    NEED(c != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_context(c->srcContext) && gs_is_context(c->dstContext), CUDA_ERROR_INVALID_CONTEXT);
    CUDA_MEMCPY3D same = {.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcZ = c->srcZ,
                          .srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost, .srcDevice = c->srcDevice,
                          .srcArray = c->srcArray, .srcPitch = c->srcPitch, .srcHeight = c->srcHeight,
                          .dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstZ = c->dstZ,
                          .dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost, .dstDevice = c->dstDevice,
                          .dstArray = c->dstArray, .dstPitch = c->dstPitch, .dstHeight = c->dstHeight,
                          .WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = c->Depth};
    return copy_box(&same, stream, waits);
}

PUBLIC CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) { return copy_peer(copy, NULL, 1); }

PUBLIC CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
    return copy_peer(copy, stream, 0);
}

/* -- runs of bytes of an array ------------------------------------------------------------------------------------- */
static CUresult to_array(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream, int waits) {
    ENTER_DRIVER();
    NEED(to != NULL, CUDA_ERROR_INVALID_HANDLE);
    if (waits)
        return RUNTIME(cudaMemcpyToArray(ARRAY(to), offset, 0, from, bytes, cudaMemcpyDefault));
    return RUNTIME(cudaMemcpyToArrayAsync(ARRAY(to), offset, 0, from, bytes, cudaMemcpyDefault, stream));
}

static CUresult from_array(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream, int waits) {
    ENTER_DRIVER();
    NEED(from != NULL, CUDA_ERROR_INVALID_HANDLE);
    if (waits)
        return RUNTIME(cudaMemcpyFromArray(to, ARRAY(from), offset, 0, bytes, cudaMemcpyDefault));
    return RUNTIME(cudaMemcpyFromArrayAsync(to, ARRAY(from), offset, 0, bytes, cudaMemcpyDefault, stream));
}

PUBLIC CUresult CUDAAPI cuMemcpyHtoA(CUarray to, size_t offset, const void *from, size_t bytes) {
    return to_array(to, offset, from, bytes, NULL, 1);
}

PUBLIC CUresult CUDAAPI cuMemcpyHtoAAsync(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream) {
    return to_array(to, offset, from, bytes, stream, 0);
}

PUBLIC CUresult CUDAAPI cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return to_array(to, offset, (const void *)from, bytes, NULL, 1);
}

PUBLIC CUresult CUDAAPI cuMemcpyAtoH(void *to, CUarray from, size_t offset, size_t bytes) {
    return from_array(to, from, offset, bytes, NULL, 1);
}

PUBLIC CUresult CUDAAPI cuMemcpyAtoHAsync(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    return from_array(to, from, offset, bytes, stream, 0);
}

PUBLIC CUresult CUDAAPI cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return from_array((void *)to, from, offset, bytes, NULL, 1);
}

PUBLIC CUresult CUDAAPI cuMemcpyAtoA(CUarray to, size_t there, CUarray from, size_t here, size_t bytes) {
    ENTER_DRIVER();
    NEED(to != NULL && from != NULL, CUDA_ERROR_INVALID_HANDLE);
    return RUNTIME(cudaMemcpy2DArrayToArray(ARRAY(to), there, 0, ARRAY(from), here, 0, bytes, 1, cudaMemcpyDefault));
}
