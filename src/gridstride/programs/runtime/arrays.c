/* CUDA arrays: texels in the arena, row after row without gaps, slice after slice, a level after the other. */
#include "graphs.h"

int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);

enum { MOST_LEVELS = 17, LEVEL_ALIGN = 256 };

struct cudaArray {
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent; /* as the program gave it */
    unsigned flags;
    size_t texel;
    uint64_t address;
    int levels; /* 0 for one that is a level of another */
};

struct cudaMipmappedArray {
    int count;
    struct cudaArray level[MOST_LEVELS];
};

static size_t least_one(size_t number) { return number ? number : 1; }

static size_t array_bytes(const struct cudaArray *array) {
    return array->extent.width * least_one(array->extent.height) * least_one(array->extent.depth) * array->texel;
}

static int channels_of(struct cudaChannelFormatDesc format) {
    return (format.x != 0) + (format.y != 0) + (format.z != 0) + (format.w != 0);
}

static int is_format(struct cudaChannelFormatDesc format) {
    int channels = channels_of(format);
    return (format.x == 8 || format.x == 16 || format.x == 32) && channels != 3 && (!format.y || format.y == format.x) &&
           (!format.z || format.z == format.x) && (!format.w || format.w == format.x) &&
           format.f <= cudaChannelFormatKindFloat && !(format.f == cudaChannelFormatKindFloat && format.x == 8);
}

void gs_image_of(const struct cudaArray *array, Image *image) {
    int layered = (array->flags & cudaArrayLayered) != 0, cube = (array->flags & cudaArrayCubemap) != 0;
    size_t depth = array->extent.depth;
    *image = (Image){.address = array->address, .kind = array->format.f, .bits = array->format.x,
                     .channels = channels_of(array->format), .width = array->extent.width,
                     .height = array->extent.height, .depth = layered || cube ? 0 : depth,
                     .layers = layered ? (cube ? depth / 6 : depth) : 0, .cubemap = cube,
                     .levels = array->levels > 1 ? array->levels : 1,
                     .surface = (array->flags & cudaArraySurfaceLoadStore) != 0};
}

const struct cudaArray *gs_first_level(cudaMipmappedArray_const_t mipmap) { return &mipmap->level[0]; }

static size_t smaller(size_t size, int level) { return size ? least_one(size >> level) : 0; }

/* In texels, as the attribute of old has it. */
PUBLIC cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *format,
                                                        int device) {
    ENTER();
    CHECK(width != NULL && format != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    CHECK(is_format(*format), cudaErrorInvalidChannelDescriptor);
    *width = gs_attribute(cudaDevAttrMaxTexture1DLinearWidth);
    return cudaSuccess;
}

/* The most texels each way of a kind of array, as cudaMalloc3DArray's documentation has them: of textures and surfaces. */
#define LIMITS(kind, x, y, z) {cudaDevAttrMax##kind##x, cudaDevAttrMax##kind##y, cudaDevAttrMax##kind##z}
enum { LINE, PLANE, SPACE, LAYERED_LINE, LAYERED_PLANE, CUBE, LAYERED_CUBE };
static const int of_textures[][3] = {
    LIMITS(Texture, 1DWidth, 1DWidth, 1DWidth), LIMITS(Texture, 2DWidth, 2DHeight, 2DWidth),
    LIMITS(Texture, 3DWidth, 3DHeight, 3DDepth), LIMITS(Texture, 1DLayeredWidth, 1DLayeredWidth, 1DLayeredLayers),
    LIMITS(Texture, 2DLayeredWidth, 2DLayeredHeight, 2DLayeredLayers),
    LIMITS(Texture, CubemapWidth, CubemapWidth, CubemapWidth),
    LIMITS(Texture, CubemapLayeredWidth, CubemapLayeredWidth, CubemapLayeredLayers),
};
static const int of_surfaces[][3] = {
    LIMITS(Surface, 1DWidth, 1DWidth, 1DWidth), LIMITS(Surface, 2DWidth, 2DHeight, 2DWidth),
    LIMITS(Surface, 3DWidth, 3DHeight, 3DDepth), LIMITS(Surface, 1DLayeredWidth, 1DLayeredWidth, 1DLayeredLayers),
    LIMITS(Surface, 2DLayeredWidth, 2DLayeredHeight, 2DLayeredLayers),
    LIMITS(Surface, CubemapWidth, CubemapWidth, CubemapWidth),
    LIMITS(Surface, CubemapLayeredWidth, CubemapLayeredWidth, CubemapLayeredLayers),
};
static const int of_mipmaps[][3] = {
    LIMITS(Texture, 1DMipmappedWidth, 1DMipmappedWidth, 1DMipmappedWidth),
    LIMITS(Texture, 2DMipmappedWidth, 2DMipmappedHeight, 2DMipmappedWidth),
};
static const int of_gathers[3] = LIMITS(Texture, 2DGatherWidth, 2DGatherHeight, 2DGatherWidth);
static const int of_tall_spaces[3] = LIMITS(Texture, 3DWidthAlt, 3DHeightAlt, 3DDepthAlt);

static int is_within(struct cudaExtent extent, const int limits[3]) {
    return extent.width <= (size_t)gs_attribute(limits[0]) && extent.height <= (size_t)gs_attribute(limits[1]) &&
           extent.depth <= (size_t)gs_attribute(limits[2]);
}

static int has_valid_extent(struct cudaExtent extent, unsigned levels, unsigned flags) {
    int layered = (flags & cudaArrayLayered) != 0, cube = (flags & cudaArrayCubemap) != 0;
    int kind = cube      ? (layered ? LAYERED_CUBE : CUBE)
               : layered ? (extent.height ? LAYERED_PLANE : LAYERED_LINE)
                         : (extent.depth ? SPACE : extent.height ? PLANE : LINE);
    if (levels > 1 && kind <= PLANE && !is_within(extent, of_mipmaps[kind]))
        return 0;
    if (flags & cudaArraySurfaceLoadStore && !is_within(extent, of_surfaces[kind]))
        return 0;
    if (flags & cudaArrayTextureGather && kind == PLANE && !is_within(extent, of_gathers))
        return 0;
    return is_within(extent, of_textures[kind]) || (kind == SPACE && is_within(extent, of_tall_spaces));
}

static cudaError_t make(cudaMipmappedArray_t *made, const struct cudaChannelFormatDesc *format,
                        struct cudaExtent extent, unsigned levels, unsigned flags) {
    ENTER();
    CHECK(made != NULL && format != NULL && extent.width != 0, cudaErrorInvalidValue);
    CHECK(levels >= 1 && levels <= MOST_LEVELS, cudaErrorInvalidValue);
    CHECK(is_format(*format), cudaErrorInvalidChannelDescriptor);
    int layered = (flags & cudaArrayLayered) != 0, cube = (flags & cudaArrayCubemap) != 0;
    CHECK(!cube || (extent.width == extent.height && extent.depth % 6 == 0), cudaErrorInvalidValue);
    CHECK(has_valid_extent(extent, levels, flags), cudaErrorInvalidValue);
    cudaMipmappedArray_t all = calloc(1, sizeof *all);
    size_t total = 0;
    all->count = levels;
    for (unsigned each = 0; each < levels; each++) {
        struct cudaArray *array = &all->level[each];
        array->format = *format, array->flags = flags, array->texel = (size_t)format->x / 8 * channels_of(*format);
        array->extent = make_cudaExtent(smaller(extent.width, each), smaller(extent.height, each),
                                        layered || cube ? extent.depth : smaller(extent.depth, each));
        array->address = total;
        total += (array_bytes(array) + LEVEL_ALIGN - 1) / LEVEL_ALIGN * LEVEL_ALIGN;
    }
    all->level[0].levels = levels;
    uint64_t start = gs_board.allocate(total, gs_current());
    if (start == 0) {
        free(all);
        return gs_error(cudaErrorMemoryAllocation);
    }
    gs_remember(start, total, GS_DEVICE, start, 0);
    for (unsigned each = 0; each < levels; each++)
        all->level[each].address += start;
    *made = all;
    return cudaSuccess;
}

/* The one level of an array stands at the front of what was made, so the address of one is that of the other. */
#define WHOLE(array) ((cudaMipmappedArray_t)((char *)(array) - offsetof(struct cudaMipmappedArray, level)))

PUBLIC cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned flags) {
    cudaMipmappedArray_t all;
    CHECK(array != NULL, cudaErrorInvalidValue);
    cudaError_t error = make(&all, format, extent, 1, flags);
    if (error == cudaSuccess)
        *array = &all->level[0];
    return error;
}

PUBLIC cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                                   size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, format, make_cudaExtent(width, height, 0), flags);
}

PUBLIC cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *made, const struct cudaChannelFormatDesc *format,
                                            struct cudaExtent extent, unsigned levels, unsigned flags) {
    size_t size = extent.width > extent.height ? extent.width : extent.height;
    unsigned most = 1;
    while (size >>= 1)
        most++;
    return make(made, format, extent, levels < most ? (levels ? levels : 1) : most, flags);
}

PUBLIC cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t all) {
    ENTER();
    Block block;
    if (all == NULL)
        return cudaSuccess;
    gs_catch_up();
    CHECK(gs_take((void *)all->level[0].address, GS_DEVICE, GS_DEVICE, &block), cudaErrorInvalidValue);
    gs_board.release(block.start);
    return cudaSuccess; /* the handle stays readable: who frees it twice gets an error */
}

PUBLIC cudaError_t cudaFreeArray(cudaArray_t array) {
    if (array == NULL)
        return cudaSuccess;
    CHECK(array->levels != 0, cudaErrorInvalidValue);
    return cudaFreeMipmappedArray(WHOLE(array));
}

PUBLIC cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t all, unsigned level) {
    ENTER();
    CHECK(array != NULL && all != NULL && (int)level < all->count, cudaErrorInvalidValue);
    *array = (cudaArray_t)&all->level[level];
    return cudaSuccess;
}

PUBLIC cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags,
                                    cudaArray_t array) {
    ENTER();
    CHECK(array != NULL, cudaErrorInvalidResourceHandle);
    if (format != NULL)
        *format = array->format;
    if (extent != NULL)
        *extent = array->extent;
    if (flags != NULL)
        *flags = array->flags;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array) {
    return cudaArrayGetInfo(format, NULL, NULL, (cudaArray_t)array);
}

static cudaError_t array_side(const struct cudaArray *array, size_t x, size_t y, size_t z, size_t width, size_t height,
                              size_t depth, Side *side) {
    size_t row = array->extent.width * array->texel, rows = least_one(array->extent.height);
    if (x + width > row || y + height > rows || z + depth > least_one(array->extent.depth))
        return cudaErrorInvalidValue;
    *side = (Side){(char *)array->address + (z * rows + y) * row + x, row, row * rows};
    return cudaSuccess;
}

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, Side from, size_t width, size_t height,
                            enum cudaMemcpyKind kind, cudaStream_t stream, int waits) {
    ENTER();
    Side side;
    CHECK(to != NULL, cudaErrorInvalidResourceHandle);
    CHECK(width <= from.row, cudaErrorInvalidPitchValue);
    TRY(array_side(to, x, y, 0, width, height, 1, &side));
    return gs_error(gs_copy_box(side, from, width, height, 1, kind, stream, waits));
}

PUBLIC cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                       size_t height, enum cudaMemcpyKind kind) {
    return to_array(to, x, y, (Side){(char *)from, pitch, 0}, width, height, kind, NULL, 1);
}

static cudaError_t from_array(Side to, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream, int waits) {
    ENTER();
    Side side;
    CHECK(from != NULL, cudaErrorInvalidResourceHandle);
    CHECK(width <= to.row, cudaErrorInvalidPitchValue);
    TRY(array_side(from, x, y, 0, width, height, 1, &side));
    return gs_error(gs_copy_box(to, side, width, height, 1, kind, stream, waits));
}

PUBLIC cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                         size_t width, size_t height, enum cudaMemcpyKind kind) {
    return from_array((Side){to, pitch, 0}, from, x, y, width, height, kind, NULL, 1);
}

PUBLIC cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                            size_t width, size_t height, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(to != NULL, cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy,
            .memcpy.copyParams = {.srcPtr = {(void *)from, pitch, width, height}, .dstArray = to,
                                  .dstPos = {x / to->texel, y, 0}, .extent = {width / to->texel, height, 1},
                                  .kind = kind});
    return to_array(to, x, y, (Side){(char *)from, pitch, 0}, width, height, kind, stream, 0);
}

PUBLIC cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                              size_t width, size_t height, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(from != NULL, cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy,
            .memcpy.copyParams = {.dstPtr = {to, pitch, width, height}, .srcArray = (cudaArray_t)from,
                                  .srcPos = {x / from->texel, y, 0}, .extent = {width / from->texel, height, 1},
                                  .kind = kind});
    return from_array((Side){to, pitch, 0}, from, x, y, width, height, kind, stream, 0);
}

PUBLIC cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                            size_t from_x, size_t from_y, size_t width, size_t height,
                                            enum cudaMemcpyKind kind) {
    ENTER();
    Side there, here;
    CHECK(to != NULL && from != NULL, cudaErrorInvalidResourceHandle);
    TRY(array_side(to, to_x, to_y, 0, width, height, 1, &there));
    TRY(array_side(from, from_x, from_y, 0, width, height, 1, &here));
    return gs_error(gs_copy_box(there, here, width, height, 1, kind, NULL, 0));
}

/* The older ones count bytes, from row to row. */
static cudaError_t array_bytes_at(cudaArray_const_t array, size_t x, size_t y, size_t bytes, char **start) {
    ENTER();
    CHECK(array != NULL, cudaErrorInvalidResourceHandle);
    size_t at = y * array->extent.width * array->texel + x;
    CHECK(at + bytes <= array_bytes(array), cudaErrorInvalidValue);
    *start = (char *)array->address + at;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                     enum cudaMemcpyKind kind) {
    char *start;
    TRY(array_bytes_at(to, x, y, bytes, &start));
    return gs_error(gs_copy(start, from, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                       enum cudaMemcpyKind kind) {
    char *start;
    TRY(array_bytes_at(from, x, y, bytes, &start));
    return gs_error(gs_copy(to, start, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                          size_t from_x, size_t from_y, size_t bytes, enum cudaMemcpyKind kind) {
    char *there, *here;
    TRY(array_bytes_at(to, to_x, to_y, bytes, &there));
    TRY(array_bytes_at(from, from_x, from_y, bytes, &here));
    return gs_error(gs_copy(there, here, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                          enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    if (gs_capturing(stream))
        return gs_spoil(stream); /* a run of bytes over several rows is no box */
    char *start;
    TRY(array_bytes_at(to, x, y, bytes, &start));
    return gs_error(gs_copy(start, from, bytes, kind, stream, 0));
}

PUBLIC cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                            enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    if (gs_capturing(stream))
        return gs_spoil(stream); /* a run of bytes over several rows is no box */
    char *start;
    TRY(array_bytes_at(from, x, y, bytes, &start));
    return gs_error(gs_copy(to, start, bytes, kind, stream, 0));
}

/* Positions and widths count texels where an array takes part, bytes elsewhere. */
static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream, int waits) {
    ENTER();
    CHECK(p != NULL, cudaErrorInvalidValue);
    CHECK((p->srcArray != NULL) != (p->srcPtr.ptr != NULL), cudaErrorInvalidValue);
    CHECK((p->dstArray != NULL) != (p->dstPtr.ptr != NULL), cudaErrorInvalidValue);
    size_t texel = p->srcArray ? p->srcArray->texel : p->dstArray ? p->dstArray->texel : 1;
    size_t width = p->extent.width * texel, height = p->extent.height, depth = p->extent.depth;
    Side to = {(char *)p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.pitch * p->dstPtr.ysize};
    Side from = {(char *)p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.pitch * p->srcPtr.ysize};
    if (p->dstArray != NULL)
        TRY(array_side(p->dstArray, p->dstPos.x * texel, p->dstPos.y, p->dstPos.z, width, height, depth, &to));
    else
        to.start += p->dstPos.z * to.slice + p->dstPos.y * to.row + p->dstPos.x;
    if (p->srcArray != NULL)
        TRY(array_side(p->srcArray, p->srcPos.x * texel, p->srcPos.y, p->srcPos.z, width, height, depth, &from));
    else
        from.start += p->srcPos.z * from.slice + p->srcPos.y * from.row + p->srcPos.x;
    return gs_error(gs_copy_box(to, from, width, height, depth, p->kind, stream, waits));
}

PUBLIC cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { return copy_3d(p, NULL, 1); }

PUBLIC cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(p != NULL, cudaErrorInvalidValue);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = *p);
    return copy_3d(p, stream, 0);
}

static const void *place(cudaArray_const_t array, struct cudaPitchedPtr pointer) {
    return array ? (const void *)array->address : pointer.ptr;
}

/* The same copy without the GPUs' numbers, which must be those of its two sides. */
static cudaError_t of_peers(const struct cudaMemcpy3DPeerParms *p, struct cudaMemcpy3DParms *plain) {
    ENTER();
    CHECK(p != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(p->dstDevice) && gs_is_device(p->srcDevice), cudaErrorInvalidDevice);
    CHECK(gs_is_of(place(p->dstArray, p->dstPtr), p->dstDevice), cudaErrorInvalidValue);
    CHECK(gs_is_of(place(p->srcArray, p->srcPtr), p->srcDevice), cudaErrorInvalidValue);
    *plain = (struct cudaMemcpy3DParms){p->srcArray, p->srcPos, p->srcPtr, p->dstArray, p->dstPos, p->dstPtr, p->extent,
                                        cudaMemcpyDefault};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) {
    struct cudaMemcpy3DParms plain;
    TRY(of_peers(p, &plain));
    TRY(gs_may_use(NULL));
    return copy_3d(&plain, NULL, 0);
}

PUBLIC cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream) {
    struct cudaMemcpy3DParms plain;
    TRY(of_peers(p, &plain));
    return cudaMemcpy3DAsync(&plain, stream);
}
