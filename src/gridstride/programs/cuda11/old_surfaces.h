/* Surface references, which CUDA 12 dropped, as objects of today: managed variables, as texture references are. */
#ifndef GS_CUDA11_OLD_SURFACES_H
#define GS_CUDA11_OLD_SURFACES_H

struct surfaceReference {
    struct cudaChannelFormatDesc channelDesc;
    cudaSurfaceObject_t gs_object;
};

template <class T, int dim = cudaSurfaceType1D> struct surface : public surfaceReference {
    constexpr __host__ __device__ surface() : surfaceReference{} {}
};

#define GS_PLAIN(...) __VA_ARGS__
#define GS_ACCESS(name, dim, parameters, arguments) \
    template <class T, class V> static __device__ __forceinline__ \
    T name##read(const surface<V, dim> &s, GS_PLAIN parameters, \
                 enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        return name##read<T>(s.gs_object, GS_PLAIN arguments, mode); \
    } \
    template <class T, class V> static __device__ __forceinline__ \
    void name##read(T *value, const surface<V, dim> &s, GS_PLAIN parameters, \
                    enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        name##read<T>(value, s.gs_object, GS_PLAIN arguments, mode); \
    } \
    template <class T, class V> static __device__ __forceinline__ \
    void name##write(T value, const surface<V, dim> &s, GS_PLAIN parameters, \
                     enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        name##write<T>(value, s.gs_object, GS_PLAIN arguments, mode); \
    }
GS_ACCESS(surf1D, cudaSurfaceType1D, (int x), (x))
GS_ACCESS(surf2D, cudaSurfaceType2D, (int x, int y), (x, y))
GS_ACCESS(surf3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
GS_ACCESS(surf1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer))
GS_ACCESS(surf2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), (x, y, layer))
#undef GS_ACCESS
#undef GS_PLAIN

static inline cudaError_t cudaBindSurfaceToArray(const surfaceReference *reference, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc *) {
    surfaceReference *s = const_cast<surfaceReference *>(reference);
    if (s == NULL)
        return cudaErrorInvalidSurface;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    cudaSurfaceObject_t object, before = s->gs_object;
    cudaError_t error = cudaCreateSurfaceObject(&object, &resource);
    if (error != cudaSuccess)
        return error;
    gs_reference_changes();
    cudaGetChannelDesc(&s->channelDesc, array);
    s->gs_object = object;
    return before ? cudaDestroySurfaceObject(before) : cudaSuccess;
}
template <class V, int dim> static inline cudaError_t cudaBindSurfaceToArray(
    const surface<V, dim> &s, cudaArray_const_t array, const cudaChannelFormatDesc &format) {
    return cudaBindSurfaceToArray((const surfaceReference *)&s, array, &format);
}
template <class V, int dim> static inline cudaError_t cudaBindSurfaceToArray(const surface<V, dim> &s,
                                                                             cudaArray_const_t array) {
    return cudaBindSurfaceToArray((const surfaceReference *)&s, array, NULL);
}

static inline cudaError_t cudaGetSurfaceReference(const surfaceReference **reference, const void *symbol) {
    *reference = (const surfaceReference *)symbol;
    return symbol == NULL ? cudaErrorInvalidSurface : cudaSuccess;
}

#endif
