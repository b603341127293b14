/* Textures and surfaces: the driver's records as the runtime's. */
#include "driver.h"

static CUresult resource_of(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *as) {
    NEED(d != NULL && d->flags == 0, CUDA_ERROR_INVALID_VALUE);
    *as = (struct cudaResourceDesc){0};
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        as->resType = cudaResourceTypeArray;
        as->res.array.array = ARRAY(d->res.array.hArray);
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        as->resType = cudaResourceTypeMipmappedArray;
        as->res.mipmap.mipmap = MIPMAP(d->res.mipmap.hMipmappedArray);
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR:
        as->resType = cudaResourceTypeLinear;
        as->res.linear.devPtr = (void *)d->res.linear.devPtr;
        as->res.linear.desc = gs_format(d->res.linear.format, d->res.linear.numChannels);
        as->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_PITCH2D:
        as->resType = cudaResourceTypePitch2D;
        as->res.pitch2D.devPtr = (void *)d->res.pitch2D.devPtr;
        as->res.pitch2D.desc = gs_format(d->res.pitch2D.format, d->res.pitch2D.numChannels);
        as->res.pitch2D.width = d->res.pitch2D.width;
        as->res.pitch2D.height = d->res.pitch2D.height;
        as->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static void describe(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *d) {
    memset(d, 0, sizeof *d);
    d->resType = (CUresourcetype)from->resType;
    if (from->resType == cudaResourceTypeArray) {
        d->res.array.hArray = (CUarray)from->res.array.array;
    } else if (from->resType == cudaResourceTypeMipmappedArray) {
        d->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
    } else if (from->resType == cudaResourceTypeLinear) {
        d->res.linear.devPtr = (CUdeviceptr)from->res.linear.devPtr;
        d->res.linear.format = gs_format_of(from->res.linear.desc);
        d->res.linear.numChannels = gs_channels_of(from->res.linear.desc);
        d->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
    } else {
        d->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
        d->res.pitch2D.format = gs_format_of(from->res.pitch2D.desc);
        d->res.pitch2D.numChannels = gs_channels_of(from->res.pitch2D.desc);
        d->res.pitch2D.width = from->res.pitch2D.width, d->res.pitch2D.height = from->res.pitch2D.height;
        d->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
    }
}

/* Whole numbers are read as fractions of their range, unless the flag says otherwise; floats and 32 bits never. */
static enum cudaTextureReadMode read_mode(const struct cudaResourceDesc *resource, unsigned flags) {
    struct cudaChannelFormatDesc format = {0};
    if (resource->resType == cudaResourceTypeLinear)
        format = resource->res.linear.desc;
    else if (resource->resType == cudaResourceTypePitch2D)
        format = resource->res.pitch2D.desc;
    else if (resource->resType == cudaResourceTypeArray)
        cudaArrayGetInfo(&format, NULL, NULL, resource->res.array.array);
    else {
        cudaArray_t first;
        if (cudaGetMipmappedArrayLevel(&first, resource->res.mipmap.mipmap, 0) == cudaSuccess)
            cudaArrayGetInfo(&format, NULL, NULL, first);
    }
    int whole = format.f == cudaChannelFormatKindFloat || format.x == 32 || (flags & CU_TRSF_READ_AS_INTEGER);
    return whole ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
}

PUBLIC CUresult CUDAAPI cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *d, const CUDA_TEXTURE_DESC *t,
                                          const CUDA_RESOURCE_VIEW_DESC *view) {
    struct cudaResourceDesc resource;
    ENTER_DRIVER();
    NEED(object != NULL && t != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(resource_of(d, &resource));
    struct cudaTextureDesc texture = {.filterMode = (enum cudaTextureFilterMode)t->filterMode,
                                      .readMode = read_mode(&resource, t->flags),
                                      .sRGB = (t->flags & CU_TRSF_SRGB) != 0,
                                      .normalizedCoords = (t->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
                                      .maxAnisotropy = t->maxAnisotropy,
                                      .mipmapFilterMode = (enum cudaTextureFilterMode)t->mipmapFilterMode,
                                      .mipmapLevelBias = t->mipmapLevelBias,
                                      .minMipmapLevelClamp = t->minMipmapLevelClamp,
                                      .maxMipmapLevelClamp = t->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++)
        texture.addressMode[i] = (enum cudaTextureAddressMode)t->addressMode[i];
    memcpy(texture.borderColor, t->borderColor, sizeof texture.borderColor);
    struct cudaResourceViewDesc other = {.format = cudaResViewFormatNone};
    if (view != NULL)
        other.format = (enum cudaResourceViewFormat)view->format;
    return RUNTIME(cudaCreateTextureObject((cudaTextureObject_t *)object, &resource, &texture, &other));
}

PUBLIC CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *d, CUtexObject object) {
    struct cudaResourceDesc resource;
    ENTER_DRIVER();
    NEED(d != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaGetTextureObjectResourceDesc(&resource, object)));
    describe(&resource, d);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *d, CUtexObject object) {
    struct cudaTextureDesc t;
    ENTER_DRIVER();
    NEED(d != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaGetTextureObjectTextureDesc(&t, object)));
    *d = (CUDA_TEXTURE_DESC){.filterMode = (CUfilter_mode)t.filterMode, .maxAnisotropy = t.maxAnisotropy,
                             .flags = (t.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
                                      (t.normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
                                      (t.sRGB ? CU_TRSF_SRGB : 0),
                             .mipmapFilterMode = (CUfilter_mode)t.mipmapFilterMode,
                             .mipmapLevelBias = t.mipmapLevelBias, .minMipmapLevelClamp = t.minMipmapLevelClamp,
                             .maxMipmapLevelClamp = t.maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++)
        d->addressMode[i] = (CUaddress_mode)t.addressMode[i];
    memcpy(d->borderColor, t.borderColor, sizeof d->borderColor);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *d) {
    struct cudaResourceDesc resource;
    ENTER_DRIVER();
    NEED(object != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(resource_of(d, &resource));
    return RUNTIME(cudaCreateSurfaceObject((cudaSurfaceObject_t *)object, &resource));
}

PUBLIC CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *d, CUsurfObject object) {
    return cuTexObjectGetResourceDesc(d, object);
}
