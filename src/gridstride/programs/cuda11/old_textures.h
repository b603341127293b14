/* Texture references, which CUDA 12 dropped, as objects of today: `texture<float, 2> t;` is a managed variable
 * (toolchain/texture_references.py) that holds its settings and, once memory is bound to it, a texture object.
 *
 * The settings are taken when memory is bound, as in CUDA 11; a fetch reads the object's number from the variable first.
 */
#ifndef GS_CUDA11_OLD_TEXTURES_H
#define GS_CUDA11_OLD_TEXTURES_H

extern "C" void gs_reference_changes(void); /* of our libcudart */
extern "C" size_t gs_reference_bytes(const void *address, size_t most, size_t alignment, size_t *offset);

struct textureReference {
    int normalized;
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureAddressMode addressMode[3];
    struct cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    enum cudaTextureReadMode gs_read_mode;
    size_t gs_offset; /* of what is bound from where the object begins */
    cudaTextureObject_t gs_object;
};

/* What a texel is, and what is read of it as numbers in [0, 1] or [-1, 1]. */
template <class T> struct gs_cuda11_texel;
#define GS_TEXEL(T, bits, channels, kind, Normalized) \
    template <> struct gs_cuda11_texel<T> { \
        typedef T element; \
        typedef Normalized normalized; \
        static constexpr __host__ __device__ cudaChannelFormatDesc format() { \
            return cudaChannelFormatDesc{bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, \
                                         channels > 3 ? bits : 0, kind}; \
        } \
    };
#define GS_TEXELS(scalar, vector, bits, kind) \
    GS_TEXEL(scalar, bits, 1, kind, float) \
    GS_TEXEL(vector##1, bits, 1, kind, float1) \
    GS_TEXEL(vector##2, bits, 2, kind, float2) \
    GS_TEXEL(vector##4, bits, 4, kind, float4)
GS_TEXEL(char, 8, 1, cudaChannelFormatKindSigned, float)
GS_TEXELS(signed char, char, 8, cudaChannelFormatKindSigned)
GS_TEXELS(unsigned char, uchar, 8, cudaChannelFormatKindUnsigned)
GS_TEXELS(short, short, 16, cudaChannelFormatKindSigned)
GS_TEXELS(unsigned short, ushort, 16, cudaChannelFormatKindUnsigned)
GS_TEXELS(int, int, 32, cudaChannelFormatKindSigned)
GS_TEXELS(unsigned int, uint, 32, cudaChannelFormatKindUnsigned)
GS_TEXELS(float, float, 32, cudaChannelFormatKindFloat)
#undef GS_TEXELS
#undef GS_TEXEL

template <class T, enum cudaTextureReadMode mode> struct gs_cuda11_read {
    typedef typename gs_cuda11_texel<T>::element type;
};
template <class T> struct gs_cuda11_read<T, cudaReadModeNormalizedFloat> {
    typedef typename gs_cuda11_texel<T>::normalized type;
};

template <class T, int dim = cudaTextureType1D, enum cudaTextureReadMode mode = cudaReadModeElementType>
struct texture : public textureReference {
    constexpr __host__ __device__ texture(int normalized_coordinates = 0,
                                          enum cudaTextureFilterMode filter = cudaFilterModePoint,
                                          enum cudaTextureAddressMode address = cudaAddressModeClamp)
        : texture(normalized_coordinates, filter, address, gs_cuda11_texel<T>::format()) {}
    constexpr __host__ __device__ texture(int normalized_coordinates, enum cudaTextureFilterMode filter,
                                          enum cudaTextureAddressMode address, struct cudaChannelFormatDesc format)
        : textureReference{normalized_coordinates, filter, {address, address, address}, format, 0, 0,
                           cudaFilterModePoint, 0, 0, 0, 0, mode, 0, 0} {}
};

/* -- what kernels read --------------------------------------------------------------------------------------------- */
#define GS_PLAIN(...) __VA_ARGS__
#define GS_FETCH(name, dim, parameters, arguments) \
    template <class T, enum cudaTextureReadMode mode> static __device__ __forceinline__ \
    typename gs_cuda11_read<T, mode>::type name(const texture<T, dim, mode> &t, GS_PLAIN parameters) { \
        return name<typename gs_cuda11_read<T, mode>::type>(t.gs_object, GS_PLAIN arguments); \
    }
GS_FETCH(tex1Dfetch, cudaTextureType1D, (int x), (x))
GS_FETCH(tex1D, cudaTextureType1D, (float x), (x))
GS_FETCH(tex2D, cudaTextureType2D, (float x, float y), (x, y))
GS_FETCH(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
GS_FETCH(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
GS_FETCH(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer))
GS_FETCH(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
GS_FETCH(texCubemapLayered, cudaTextureTypeCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer))
GS_FETCH(tex1DLod, cudaTextureType1D, (float x, float level), (x, level))
GS_FETCH(tex2DLod, cudaTextureType2D, (float x, float y, float level), (x, y, level))
GS_FETCH(tex3DLod, cudaTextureType3D, (float x, float y, float z, float level), (x, y, z, level))
GS_FETCH(tex1DGrad, cudaTextureType1D, (float x, float dx, float dy), (x, dx, dy))
GS_FETCH(tex2DGrad, cudaTextureType2D, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy))
GS_FETCH(tex3DGrad, cudaTextureType3D, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy))
#undef GS_FETCH
#undef GS_PLAIN

/* -- what the host binds ------------------------------------------------------------------------------------------- */
static inline cudaError_t gs_cuda11_bound(const textureReference *reference, cudaTextureObject_t object, size_t offset) {
    textureReference *t = const_cast<textureReference *>(reference);
    gs_reference_changes();
    cudaTextureObject_t before = t->gs_object;
    t->gs_object = object, t->gs_offset = offset;
    return before ? cudaDestroyTextureObject(before) : cudaSuccess;
}

static inline cudaError_t gs_cuda11_bind(const textureReference *t, const cudaResourceDesc &resource, size_t offset) {
    if (t == NULL)
        return cudaErrorInvalidTexture;
    cudaTextureDesc sampling = {};
    sampling.readMode = t->gs_read_mode;
    if (resource.resType != cudaResourceTypeLinear) {
        for (int i = 0; i < 3; i++)
            sampling.addressMode[i] = t->addressMode[i];
        sampling.filterMode = t->filterMode, sampling.sRGB = t->sRGB, sampling.normalizedCoords = t->normalized;
        sampling.maxAnisotropy = t->maxAnisotropy, sampling.mipmapFilterMode = t->mipmapFilterMode;
        sampling.mipmapLevelBias = t->mipmapLevelBias, sampling.minMipmapLevelClamp = t->minMipmapLevelClamp;
        sampling.maxMipmapLevelClamp = t->maxMipmapLevelClamp;
    }
    cudaTextureObject_t object;
    cudaError_t error = cudaCreateTextureObject(&object, &resource, &sampling, NULL);
    return error != cudaSuccess ? error : gs_cuda11_bound(t, object, offset);
}

/* Objects begin at multiples of textureAlignment, as what is allocated does: what lies before the pointer is the offset,
 * which kernels add. */
static inline cudaError_t gs_cuda11_aligned(size_t *offset, const void **pointer, size_t *before, size_t *bytes) {
    int device, alignment;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&alignment, cudaDevAttrTextureAlignment, device);
    size_t there = gs_reference_bytes(*pointer, *bytes, alignment, before);
    *bytes = (*bytes == 0xffffffffu ? there : *bytes) + *before; /* the default: all that there is */
    *pointer = (const char *)*pointer - *before;
    if (offset != NULL)
        *offset = *before;
    return *before && offset == NULL ? cudaErrorInvalidValue : cudaSuccess;
}

static inline cudaError_t cudaBindTexture(size_t *offset, const textureReference *t, const void *pointer,
                                          const cudaChannelFormatDesc *format, size_t bytes = 0xffffffffu) {
    size_t before;
    cudaError_t error = gs_cuda11_aligned(offset, &pointer, &before, &bytes);
    if (error != cudaSuccess)
        return error;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<void *>(pointer);
    resource.res.linear.desc = *format;
    resource.res.linear.sizeInBytes = bytes;
    return gs_cuda11_bind(t, resource, before);
}

static inline cudaError_t cudaBindTexture2D(size_t *offset, const textureReference *t, const void *pointer,
                                            const cudaChannelFormatDesc *format, size_t width, size_t height,
                                            size_t pitch) {
    size_t before, bytes = pitch * height;
    cudaError_t error = gs_cuda11_aligned(offset, &pointer, &before, &bytes);
    if (error != cudaSuccess)
        return error;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = const_cast<void *>(pointer);
    resource.res.pitch2D.desc = *format;
    resource.res.pitch2D.width = width, resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    return gs_cuda11_bind(t, resource, before);
}

static inline cudaError_t cudaBindTextureToArray(const textureReference *t, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc *) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    return gs_cuda11_bind(t, resource, 0);
}

static inline cudaError_t cudaBindTextureToMipmappedArray(const textureReference *t, cudaMipmappedArray_const_t mipmap,
                                                          const cudaChannelFormatDesc *) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = const_cast<cudaMipmappedArray_t>(mipmap);
    return gs_cuda11_bind(t, resource, 0);
}

static inline cudaError_t cudaUnbindTexture(const textureReference *t) {
    return t == NULL ? cudaErrorInvalidTexture : gs_cuda11_bound(t, 0, 0);
}

static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *t) {
    if (offset == NULL || t == NULL || t->gs_object == 0)
        return t != NULL && t->gs_object == 0 ? cudaErrorInvalidTextureBinding : cudaErrorInvalidTexture;
    *offset = t->gs_offset;
    return cudaSuccess;
}

static inline cudaError_t cudaGetTextureReference(const textureReference **reference, const void *symbol) {
    *reference = (const textureReference *)symbol;
    return symbol == NULL ? cudaErrorInvalidTexture : cudaSuccess;
}

#define GS_ANY template <class T, int dim, enum cudaTextureReadMode mode> static inline cudaError_t
GS_ANY cudaBindTexture(size_t *offset, const texture<T, dim, mode> &t, const void *pointer,
                       const cudaChannelFormatDesc &format, size_t bytes = 0xffffffffu) {
    return cudaBindTexture(offset, (const textureReference *)&t, pointer, &format, bytes);
}
GS_ANY cudaBindTexture(size_t *offset, const texture<T, dim, mode> &t, const void *pointer,
                       size_t bytes = 0xffffffffu) {
    return cudaBindTexture(offset, (const textureReference *)&t, pointer, &t.channelDesc, bytes);
}
GS_ANY cudaBindTexture2D(size_t *offset, const texture<T, dim, mode> &t, const void *pointer,
                         const cudaChannelFormatDesc &format, size_t width, size_t height, size_t pitch) {
    return cudaBindTexture2D(offset, (const textureReference *)&t, pointer, &format, width, height, pitch);
}
GS_ANY cudaBindTexture2D(size_t *offset, const texture<T, dim, mode> &t, const void *pointer, size_t width,
                         size_t height, size_t pitch) {
    return cudaBindTexture2D(offset, (const textureReference *)&t, pointer, &t.channelDesc, width, height, pitch);
}
GS_ANY cudaBindTextureToArray(const texture<T, dim, mode> &t, cudaArray_const_t array,
                              const cudaChannelFormatDesc &format) {
    return cudaBindTextureToArray((const textureReference *)&t, array, &format);
}
GS_ANY cudaBindTextureToArray(const texture<T, dim, mode> &t, cudaArray_const_t array) {
    return cudaBindTextureToArray((const textureReference *)&t, array, &t.channelDesc);
}
GS_ANY cudaBindTextureToMipmappedArray(const texture<T, dim, mode> &t, cudaMipmappedArray_const_t mipmap,
                                       const cudaChannelFormatDesc &format) {
    return cudaBindTextureToMipmappedArray((const textureReference *)&t, mipmap, &format);
}
GS_ANY cudaBindTextureToMipmappedArray(const texture<T, dim, mode> &t, cudaMipmappedArray_const_t mipmap) {
    return cudaBindTextureToMipmappedArray((const textureReference *)&t, mipmap, &t.channelDesc);
}
GS_ANY cudaUnbindTexture(const texture<T, dim, mode> &t) { return cudaUnbindTexture((const textureReference *)&t); }
GS_ANY cudaGetTextureAlignmentOffset(size_t *offset, const texture<T, dim, mode> &t) {
    return cudaGetTextureAlignmentOffset(offset, (const textureReference *)&t);
}
#undef GS_ANY

#endif
