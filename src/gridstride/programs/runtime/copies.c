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

/* The GPU whose memory it is, else the other one: of managed memory, which no GPU has to itself, and of a variable,
 * which only the current GPU's calls can name. */
static int owner(const void *pointer, int other) {
    Block block;
    return gs_block(pointer, &block) && block.kind == GS_DEVICE ? block.owner : other;
}

static int is_pageable(const void *pointer) {
    Block block;
    return is_hosts(pointer) && !gs_block(pointer, &block);
}

static cudaError_t row_check(const void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    if (to == NULL || from == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = check(to, from, kind);
    if (error != cudaSuccess)
        return error;
    return gs_reaches(to, bytes) && gs_reaches(from, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

typedef struct {
    Side to, from;
    size_t width, height, depth;
    enum cudaMemcpyKind kind;
    cudaStream_t stream;
} Copy;

static void late_copy(const void *given) {
    const Copy *copy = given;
    Side staged = {(char *)(copy + 1), 0, 0};
    gs_copy_box(copy->to, copy->from.start == NULL ? staged : copy->from, copy->width, copy->height, copy->depth, copy->kind, copy->stream, 0);
}

cudaError_t gs_copy_box(Side to, Side from, size_t width, size_t height, size_t depth, enum cudaMemcpyKind kind,
                        cudaStream_t stream, int waits) {
    if (width * height * depth == 0)
        return cudaSuccess;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++) {
            char *start = to.start == NULL ? NULL : to.start + z * to.slice + y * to.row;
            cudaError_t error = row_check(start, from.start + z * from.slice + y * from.row, width, kind);
            if (error != cudaSuccess)
                return error;
        }
    if (waits)
        TRY(gs_may_use(stream));
    int pageable = is_pageable(to.start) || is_pageable(from.start);
    uint64_t one = height * depth == 1;
    if (gs_is_late() && !waits && !pageable) {
        Copy copy = {to, from, width, height, depth, kind, stream};
        return gs_put_off(stream, late_copy, &copy, sizeof copy);
    }
    if (gs_is_late() && one && is_pageable(from.start) && !is_hosts(to.start)) { /* staged, to get there later */
        if (waits)
            gs_board.waited(WAITED_STREAM, gs_stream_number(stream));
        Copy copy = {to, {NULL, 0, 0}, width, 1, 1, cudaMemcpyHostToDevice, stream};
        char *given = malloc(sizeof copy + width);
        memcpy(given, &copy, sizeof copy);
        memcpy(given + sizeof copy, from.start, width);
        gs_put_off(stream, late_copy, given, sizeof copy + width);
        free(given);
        return cudaSuccess;
    }
    int64_t way = direction(to.start, from.start);
    int there = owner(to.start, owner(from.start, gs_stream_device(stream)));
    int here = owner(from.start, there);
    if (way == cudaMemcpyDeviceToDevice && there != here)
        way = COPY_TO_PEER;
    for (size_t z = 0; !one && z < depth; z++) {
        ORDER(rows((uint64_t)to.start + z * to.slice, width, to.row, height, 1));
        ORDER(rows((uint64_t)from.start + z * from.slice, width, from.row, height, 0));
    }
    cudaError_t error = gs_board.copy(width * height * depth, way, gs_stream_number(stream), pageable, waits,
                                      one * (uint64_t)to.start, one * (uint64_t)from.start, there, here);
    if (error == cudaSuccess)
        error = gs_fault(); /* of what it has waited for */
    const size_t to_bytes = (depth - 1) * to.slice + (height - 1) * to.row + width;
    const size_t from_bytes = (depth - 1) * from.slice + (height - 1) * from.row + width;
    gs_open_for_work(to.start, to_bytes);
    gs_open_for_work(from.start, from_bytes);
    for (size_t z = 0; error == cudaSuccess && z < depth; z++)
        for (size_t y = 0; y < height; y++) {
            char *start = to.start + z * to.slice + y * to.row;
            memmove(start, from.start + z * from.slice + y * from.row, width);
            gs_written(start, width);
        }
    gs_close_for_work(to.start, to_bytes);
    gs_close_for_work(from.start, from_bytes);
    return error;
}

cudaError_t gs_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream,
                    int waits) {
    return gs_copy_box((Side){to, 0, 0}, (Side){(char *)from, 0, 0}, bytes, 1, 1, kind, stream, waits);
}

PUBLIC cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ENTER();
    TRY(gs_may_use(NULL));
    return gs_error(gs_copy(to, from, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, from, bytes, kind));
    return gs_error(gs_copy(to, from, bytes, kind, stream, 0));
}

int gs_is_of(const void *pointer, int device) {
    Block block;
    return !gs_block(pointer, &block) || block.kind != GS_DEVICE || block.owner == device;
}

static cudaError_t peer(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        cudaStream_t stream) {
    ENTER();
    CHECK(gs_is_device(to_device) && gs_is_device(from_device), cudaErrorInvalidDevice);
    CHECK(gs_is_of(to, to_device) && gs_is_of(from, from_device), cudaErrorInvalidValue);
    return gs_error(gs_copy(to, from, bytes, cudaMemcpyDefault, stream, 0));
}

PUBLIC cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    return peer(to, to_device, from, from_device, bytes, NULL);
}

PUBLIC cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                       cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, from, bytes, cudaMemcpyDefault));
    return peer(to, to_device, from, from_device, bytes, stream);
}

/* Where `bytes` of a variable begin, for a copy that is one of `kind` or from device to device. */
static cudaError_t symbol_part(const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind given,
                               enum cudaMemcpyKind kind, char **part) {
    ENTER();
    CHECK(given == kind || given == cudaMemcpyDeviceToDevice || given == cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    *part = (char *)address + offset;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind) {
    char *part;
    TRY(symbol_part(symbol, bytes, offset, kind, cudaMemcpyHostToDevice, &part));
    return gs_error(gs_copy(part, from, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                        enum cudaMemcpyKind kind) {
    char *part;
    TRY(symbol_part(symbol, bytes, offset, kind, cudaMemcpyDeviceToHost, &part));
    return gs_error(gs_copy(to, part, bytes, kind, NULL, 1));
}

PUBLIC cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                           enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    char *part;
    TRY(symbol_part(symbol, bytes, offset, kind, cudaMemcpyHostToDevice, &part));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(part, from, bytes, kind));
    return gs_error(gs_copy(part, from, bytes, kind, stream, 0));
}

PUBLIC cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                             enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    char *part;
    TRY(symbol_part(symbol, bytes, offset, kind, cudaMemcpyDeviceToHost, &part));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, part, bytes, kind));
    return gs_error(gs_copy(to, part, bytes, kind, stream, 0));
}

static cudaError_t copy_2d(Side to, Side from, size_t width, size_t height, enum cudaMemcpyKind kind,
                           cudaStream_t stream, int waits) {
    ENTER();
    CHECK(width <= to.row && width <= from.row, cudaErrorInvalidPitchValue);
    return gs_error(gs_copy_box(to, from, width, height, 1, kind, stream, waits));
}

PUBLIC cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
    return copy_2d((Side){to, to_pitch, 0}, (Side){(char *)from, from_pitch, 0}, width, height, kind, NULL, 1);
}

PUBLIC cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemcpy,
            .memcpy.copyParams = {.srcPtr = {(void *)from, from_pitch, width, height},
                                  .dstPtr = {to, to_pitch, width, height}, .extent = {width, height, 1}, .kind = kind});
    return copy_2d((Side){to, to_pitch, 0}, (Side){(char *)from, from_pitch, 0}, width, height, kind, stream, 0);
}

typedef struct {
    void *pointer;
    size_t pitch, width, height;
    int value;
    cudaStream_t stream;
} Fill;

static cudaError_t fill(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream);

static void late_fill(const void *given) {
    const Fill *late = given;
    fill(late->pointer, late->pitch, late->value, late->width, late->height, late->stream);
}

static cudaError_t fill(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    if (width * height == 0)
        return cudaSuccess;
    Block block;
    for (size_t y = 0; y < height; y++) {
        char *row = (char *)pointer + y * pitch;
        if (!(gs_in_arena(row) || gs_block(row, &block)) || !gs_reaches(row, width))
            return cudaErrorInvalidValue;
    }
    if (gs_is_late()) {
        Fill late = {pointer, pitch, width, height, value, stream};
        return gs_put_off(stream, late_fill, &late, sizeof late);
    }
    int device = owner(pointer, gs_stream_device(stream));
    if (height > 1)
        ORDER(rows((uint64_t)pointer, width, pitch, height, 1));
    MODEL(fill(width * height, gs_stream_number(stream), height == 1 ? (uint64_t)pointer : 0, device));
    gs_open_for_work(pointer, (height - 1) * pitch + width);
    for (size_t y = 0; y < height; y++) {
        memset((char *)pointer + y * pitch, value, width);
        gs_written((char *)pointer + y * pitch, width);
    }
    gs_close_for_work(pointer, (height - 1) * pitch + width);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemset(void *pointer, int value, size_t bytes) {
    ENTER();
    TRY(gs_may_use(NULL));
    return gs_error(fill(pointer, 0, value, bytes, 1, NULL));
}

PUBLIC cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemset,
            .memset = {.dst = pointer, .value = value, .elementSize = 1, .width = bytes, .height = 1});
    ENTER();
    return gs_error(fill(pointer, 0, value, bytes, 1, stream));
}

static cudaError_t fill_2d(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    ENTER();
    TRY(gs_may_use(stream));
    CHECK(width <= pitch, cudaErrorInvalidValue);
    return gs_error(fill(pointer, pitch, value, width, height, stream));
}

PUBLIC cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    return fill_2d(pointer, pitch, value, width, height, NULL);
}

PUBLIC cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemset,
            .memset = {.dst = pointer, .pitch = pitch, .value = value, .elementSize = 1, .width = width,
                       .height = height});
    return fill_2d(pointer, pitch, value, width, height, stream);
}

PUBLIC cudaError_t cudaMemset3D(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent) {
    for (size_t slice = 0; slice < extent.depth; slice++)
        TRY(cudaMemset2D((char *)pitched.ptr + slice * pitched.ysize * pitched.pitch, pitched.pitch, value,
                         extent.width, extent.height));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent,
                                     cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    for (size_t slice = 0; slice < extent.depth; slice++)
        TRY(cudaMemset2DAsync((char *)pitched.ptr + slice * pitched.ysize * pitched.pitch, pitched.pitch, value,
                              extent.width, extent.height, stream));
    return cudaSuccess;
}
