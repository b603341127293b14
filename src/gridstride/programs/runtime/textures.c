/* Texture and surface objects: a record for the machine, and what they were made from for who asks. */
#include <stdio.h>

#include "runtime.h"

typedef struct Object {
    uint64_t handle;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct Object *next;
} Object;

static Object *objects;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the bytes that a program says, those that its allocation has: hardware takes more, and reads what lies there. */
static size_t within_its_memory(uint64_t address, size_t bytes, size_t texel) {
    Block block;
    if (!gs_in_arena((void *)address) || gs_reaches((void *)address, bytes ? bytes - 1 : 0) ||
        !gs_block((void *)address, &block))
        return bytes;
    size_t there = (block.start + block.bytes - address) / texel * texel;
    fprintf(stderr, "gridstride: a texture object is to cover %zu bytes, and its memory has %zu of them: hardware would "
                    "read what lies beyond, here that is 0\n", bytes, there);
    return there;
}

/* Counted from where it was allocated, which is aligned for all that there is. */
static int is_aligned(uint64_t address) {
    Block block;
    return !gs_block((void *)address, &block) ||
           (address - block.start) % (uint64_t)gs_attribute(cudaDevAttrTextureAlignment) == 0;
}

static int is_pitched(const Image *image) {
    return image->pitch % gs_attribute(cudaDevAttrTexturePitchAlignment) == 0 &&
           image->width <= gs_attribute(cudaDevAttrMaxTexture2DLinearWidth) &&
           image->height <= gs_attribute(cudaDevAttrMaxTexture2DLinearHeight) &&
           image->pitch <= gs_attribute(cudaDevAttrMaxTexture2DLinearPitch);
}

static cudaError_t image_of(const struct cudaResourceDesc *resource, Image *image) {
    struct cudaChannelFormatDesc format;
    switch (resource->resType) {
    case cudaResourceTypeArray:
        if (resource->res.array.array == NULL)
            return cudaErrorInvalidResourceHandle;
        gs_image_of(resource->res.array.array, image);
        image->levels = 1;
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        if (resource->res.mipmap.mipmap == NULL)
            return cudaErrorInvalidResourceHandle;
        gs_image_of(gs_first_level(resource->res.mipmap.mipmap), image);
        return cudaSuccess;
    case cudaResourceTypeLinear:
        format = resource->res.linear.desc;
        *image = (Image){.address = (uint64_t)resource->res.linear.devPtr, .levels = 1};
        break;
    case cudaResourceTypePitch2D:
        format = resource->res.pitch2D.desc;
        *image = (Image){.address = (uint64_t)resource->res.pitch2D.devPtr, .levels = 1,
                         .width = resource->res.pitch2D.width, .height = resource->res.pitch2D.height,
                         .pitch = resource->res.pitch2D.pitchInBytes};
        break;
    default:
        return cudaErrorInvalidValue;
    }
    image->kind = format.f, image->bits = format.x;
    image->channels = (format.x != 0) + (format.y != 0) + (format.z != 0) + (format.w != 0);
    size_t texel = format.x / 8 * image->channels, bytes = image->pitch * image->height;
    if (texel == 0 || image->address == 0)
        return cudaErrorInvalidValue;
    if (image->channels == 3)
        return cudaErrorInvalidChannelDescriptor;
    if (!is_aligned(image->address) || (resource->resType == cudaResourceTypePitch2D && !is_pitched(image)))
        return cudaErrorInvalidValue;
    if (resource->resType == cudaResourceTypeLinear) {
        bytes = within_its_memory(image->address, resource->res.linear.sizeInBytes, texel);
        image->width = bytes / texel;
        image->pitch = bytes;
        if (image->width > gs_attribute(cudaDevAttrMaxTexture1DLinearWidth))
            return cudaErrorInvalidValue;
    }
    return gs_in_arena((void *)image->address) && gs_reaches((void *)image->address, bytes ? bytes - 1 : 0)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

/* Whole numbers of 32 bits stay what they are. */
static int gives_floats(const Image *image, enum cudaTextureReadMode mode) {
    if (image->kind == cudaChannelFormatKindSigned || image->kind == cudaChannelFormatKindUnsigned)
        return mode == cudaReadModeNormalizedFloat && image->bits < 32;
    return 1;
}

static void remember(uint64_t handle, const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture) {
    Object *object = calloc(1, sizeof *object);
    object->handle = handle, object->resource = *resource;
    if (texture != NULL)
        object->texture = *texture;
    pthread_mutex_lock(&lock);
    object->next = objects;
    objects = object;
    pthread_mutex_unlock(&lock);
}

PUBLIC cudaError_t cudaCreateTextureObject(cudaTextureObject_t *handle, const struct cudaResourceDesc *resource,
                                           const struct cudaTextureDesc *t, const struct cudaResourceViewDesc *view) {
    ENTER();
    CHECK(handle != NULL && resource != NULL && t != NULL, cudaErrorInvalidValue);
    if (view != NULL && view->format != cudaResViewFormatNone)
        return gs_refused("cudaCreateTextureObject", "views of a resource in another format are not implemented");
    Image image;
    TRY(image_of(resource, &image));
    CHECK(t->filterMode != cudaFilterModeLinear || gives_floats(&image, t->readMode), cudaErrorInvalidFilterSetting);
    Sampling sampling = {.address = {t->addressMode[0], t->addressMode[1], t->addressMode[2]}, .filter = t->filterMode,
                         .read = t->readMode, .srgb = t->sRGB, .normalized = t->normalizedCoords,
                         .mipmap_filter = t->mipmapFilterMode, .bias = t->mipmapLevelBias,
                         .low = t->minMipmapLevelClamp, .high = t->maxMipmapLevelClamp};
    for (int i = 0; i < 4; i++)
        sampling.border[i] = t->borderColor[i];
    uint64_t made;
    TRY(gs_board.texture(&image, &sampling, &made));
    remember(made, resource, t);
    gs_board.object(OBJECT_TEXTURE, 1);
    *handle = made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *handle, const struct cudaResourceDesc *resource) {
    ENTER();
    CHECK(handle != NULL && resource != NULL && resource->resType == cudaResourceTypeArray, cudaErrorInvalidValue);
    Image image;
    TRY(image_of(resource, &image));
    CHECK(image.surface, cudaErrorInvalidValue);
    uint64_t made;
    TRY(gs_board.surface(&image, &made));
    remember(made, resource, NULL);
    gs_board.object(OBJECT_SURFACE, 1);
    *handle = made;
    return cudaSuccess;
}

static cudaError_t destroy(uint64_t handle, int kind) {
    ENTER();
    if (handle == 0)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    Object **place = &objects;
    while (*place != NULL && (*place)->handle != handle)
        place = &(*place)->next;
    Object *gone = *place;
    if (gone != NULL)
        *place = gone->next;
    pthread_mutex_unlock(&lock);
    CHECK(gone != NULL, cudaErrorInvalidValue);
    free(gone);
    gs_board.object(kind, -1);
    return gs_error(gs_board.destroy_object(handle));
}

PUBLIC cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle) {
    return destroy(handle, OBJECT_TEXTURE);
}

PUBLIC cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle) {
    return destroy(handle, OBJECT_SURFACE);
}

static cudaError_t find(uint64_t handle, Object *found) {
    ENTER();
    pthread_mutex_lock(&lock);
    Object *object = objects;
    while (object != NULL && object->handle != handle)
        object = object->next;
    if (object != NULL)
        *found = *object;
    pthread_mutex_unlock(&lock);
    CHECK(object != NULL, cudaErrorInvalidValue);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t handle) {
    Object object;
    CHECK(resource != NULL, cudaErrorInvalidValue);
    TRY(find(handle, &object));
    *resource = object.resource;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t handle) {
    return cudaGetTextureObjectResourceDesc(resource, handle);
}

PUBLIC cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t handle) {
    Object object;
    CHECK(texture != NULL, cudaErrorInvalidValue);
    TRY(find(handle, &object));
    *texture = object.texture;
    return cudaSuccess;
}

/* For texture and surface references of CUDA 11 (cuda11/old_textures.h). What is put off reads what was bound before. */
PUBLIC void gs_reference_changes(void) { gs_catch_up(); }

/* Of the memory at an address: how many bytes there are from there on, at most `most`, and how far from a multiple of
 * the alignment it lies, counted from where it was allocated. */
PUBLIC size_t gs_reference_bytes(const void *address, size_t most, size_t alignment, size_t *offset) {
    Block block;
    *offset = 0;
    if (!gs_block(address, &block))
        return most;
    *offset = ((uint64_t)address - block.start) % alignment;
    size_t there = block.start + block.bytes - (uint64_t)address;
    return there < most ? there : most;
}
