/* Copies and fills, done when they are asked for. */
#include "graphs.h"

static int is_device_only(const void *pointer) {
    Block block;
    return gs_in_arena(pointer) && (!gs_block(pointer, &block) || block.kind == GS_DEVICE);
}

/* Whether the two sides are what `kind` says; cudaMemcpyDefault takes them for what they are. */
static cudaError_t check(const void *to, const void *from, enum cudaMemcpyKind kind) {
    Block block;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault)
        return cudaSuccess;
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device ? !gs_in_arena(to) && !gs_block(to, &block) : is_device_only(to))
        return cudaErrorInvalidValue;
    if (from_device ? !gs_in_arena(from) && !gs_block(from, &block) : is_device_only(from))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Where the bytes are: pinned and registered memory is the host's, managed memory the device's. */
static int is_hosts(const void *pointer) {
    Block block;
    if (gs_block(pointer, &block))
        return block.kind != GS_DEVICE && block.kind != GS_MANAGED;
    return !gs_in_arena(pointer);
}

static enum cudaMemcpyKind direction(const void *to, const void *from) {
    if (is_hosts(from))
        return is_hosts(to) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return is_hosts(to) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

/* After a copy that the host waits for: one within the device is not. */
static cudaError_t waited(cudaError_t error, const void *to, const void *from) {
    if (error == cudaSuccess && direction(to, from) != cudaMemcpyDeviceToDevice)
        gs_board.waited();
    return gs_error(error);
}

cudaError_t gs_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    if (bytes == 0)
        return cudaSuccess;
    if (to == NULL || from == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = check(to, from, kind);
    if (error != cudaSuccess)
        return error;
    if (!gs_reaches(to, bytes) || !gs_reaches(from, bytes))
        return cudaErrorInvalidValue;
    error = gs_board.copy(bytes, direction(to, from));
    if (error != cudaSuccess)
        return error;
    memmove(to, from, bytes);
    gs_written(to, bytes);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ENTER();
    TRY(gs_outside_capture(cudaErrorStreamCaptureImplicit));
    return waited(gs_copy(to, from, bytes, kind), to, from);
}

PUBLIC cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    ENTER();
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, from, bytes, kind));
    return gs_error(gs_copy(to, from, bytes, kind));
}

PUBLIC cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    ENTER();
    CHECK(to_device == 0 && from_device == 0, cudaErrorInvalidDevice);
    return gs_error(gs_copy(to, from, bytes, cudaMemcpyDefault));
}

PUBLIC cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                       cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, from, bytes, cudaMemcpyDefault));
    return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}

PUBLIC cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind) {
    ENTER();
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    return waited(gs_copy((char *)address + offset, from, bytes, kind), (void *)address, from);
}

PUBLIC cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                        enum cudaMemcpyKind kind) {
    ENTER();
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    return waited(gs_copy(to, (char *)address + offset, bytes, kind), to, (void *)address);
}

PUBLIC cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                           enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy((char *)address + offset, from, bytes, kind));
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

PUBLIC cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                             enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, (char *)address + offset, bytes, kind));
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

PUBLIC cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
    ENTER();
    CHECK(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
    for (size_t row = 0; row < height; row++)
        TRY(gs_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind));
    return waited(cudaSuccess, to, from);
}

PUBLIC cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy,
            .memcpy.copyParams = {.srcPtr = {(void *)from, from_pitch, width, height},
                                  .dstPtr = {to, to_pitch, width, height}, .extent = {width, height, 1}, .kind = kind});
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

static cudaError_t fill(void *pointer, int value, size_t bytes) {
    if (bytes == 0)
        return cudaSuccess;
    Block block;
    if (!(gs_in_arena(pointer) || gs_block(pointer, &block)) || !gs_reaches(pointer, bytes))
        return cudaErrorInvalidValue;
    memset(pointer, value, bytes);
    gs_written(pointer, bytes);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemset(void *pointer, int value, size_t bytes) {
    ENTER();
    TRY(gs_outside_capture(cudaErrorStreamCaptureImplicit));
    return gs_error(fill(pointer, value, bytes));
}

PUBLIC cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemset,
            .memset = {.dst = pointer, .value = value, .elementSize = 1, .width = bytes, .height = 1});
    ENTER();
    return gs_error(fill(pointer, value, bytes));
}

PUBLIC cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    ENTER();
    CHECK(width <= pitch, cudaErrorInvalidValue);
    for (size_t row = 0; row < height; row++)
        TRY(fill((char *)pointer + row * pitch, value, width));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    CAPTURE(stream, .type = cudaGraphNodeTypeMemset,
            .memset = {.dst = pointer, .pitch = pitch, .value = value, .elementSize = 1, .width = width,
                       .height = height});
    return cudaMemset2D(pointer, pitch, value, width, height);
}

PUBLIC cudaError_t cudaMemset3D(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent) {
    for (size_t slice = 0; slice < extent.depth; slice++)
        TRY(cudaMemset2D((char *)pitched.ptr + slice * pitched.ysize * pitched.pitch, pitched.pitch, value,
                         extent.width, extent.height));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent,
                                     cudaStream_t stream) {
    CHECK(gs_is_stream(stream), cudaErrorInvalidResourceHandle);
    for (size_t slice = 0; gs_capturing(stream) && slice < extent.depth; slice++)
        TRY(cudaMemset2DAsync((char *)pitched.ptr + slice * pitched.ysize * pitched.pitch, pitched.pitch, value,
                              extent.width, extent.height, stream));
    return gs_capturing(stream) ? cudaSuccess : cudaMemset3D(pitched, value, extent);
}
