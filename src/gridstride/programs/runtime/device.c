/* The device: its properties, limits and flags, and the program's start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "runtime.h"

extern const char *gs_device_name;
PUBLIC void gs_set_board(const Board *board) {
    gs_board = *board;
    gs_tells_calls = board->tells_calls || board->watches;
}

/* The interpreter of a Python program ends before its packages have destroyed all that they hold, which succeeds here as
 * on hardware; what would begin something new is given cudaErrorCudartUnloading, CUDA_ERROR_DEINITIALIZED.
 */
static uint64_t is_nothing(void) { return 0; }
static int is_unloading(void) { return cudaErrorCudartUnloading; }

PUBLIC void gs_retire_board(void) {
    void (**callback)(void) = (void (**)(void))(void *)&gs_board.allocate;
    for (; (void *)callback < (void *)(&gs_board + 1); callback++)
        *callback = (void (*)(void))is_nothing;
    void *const begin[] = {&gs_board.load, &gs_board.load_code, &gs_board.launch, &gs_board.copy, &gs_board.code,
                           &gs_board.link_code, &gs_board.kernel, &gs_board.variable};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        *(void **)begin[i] = (void *)is_unloading;
    gs_board.models = gs_board.orders = 0;
    gs_tells_calls = 0;
}

int64_t gs_attribute(int number) {
    enum { KEPT = 256 };
    static int64_t kept[KEPT];
    static char known[KEPT];
    if (number < 0 || number >= KEPT)
        return 0;
    if (!known[number]) {
        gs_board.attribute(number, &kept[number]);
        known[number] = 1;
    }
    return kept[number];
}

PUBLIC cudaError_t cudaGetDeviceCount(int *count) {
    CHECK(count != NULL, cudaErrorInvalidValue);
    CHECK(!gs_is_forked(), cudaErrorInitializationError);
    *count = gs_board.devices;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaSetDevice(int device) {
    ENTER();
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    gs_make_current(device);
    gs_use_primary(device);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaInitDevice(int device, unsigned flags, unsigned both) {
    (void)flags, (void)both;
    ENTER();
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDevice(int *device) {
    ENTER();
    CHECK(device != NULL, cudaErrorInvalidValue);
    *device = gs_current();
    return cudaSuccess;
}

static unsigned device_flags;

PUBLIC cudaError_t cudaSetDeviceFlags(unsigned flags) {
    ENTER();
    CHECK((flags & ~cudaDeviceMask) == 0, cudaErrorInvalidValue);
    device_flags = flags;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    ENTER();
    CHECK(flags != NULL, cudaErrorInvalidValue);
    *flags = device_flags | cudaDeviceMapHost;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceReset(void) {
    ENTER();
    gs_reset_device(gs_current());
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    ENTER();
    int64_t known;
    CHECK(value != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    TRY(gs_board.attribute(attribute, &known));
    *value = (int)known;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    ENTER();
    CHECK(p != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    return gs_properties(p, device);
}

cudaError_t gs_properties(struct cudaDeviceProp *p, int device) {
    uint64_t available, total;
    memset(p, 0, sizeof *p);
    gs_board.free_memory(device, &available, &total);
    snprintf(p->name, sizeof p->name, "%s", gs_device_name);
    memcpy(p->uuid.bytes, "gridstride\0GPU\0", 16);
    p->uuid.bytes[15] = (char)device;
    p->pciBusID = device;
    p->totalGlobalMem = total;
#define FIELD(field, attribute) p->field = gs_attribute(cudaDevAttr##attribute)
    FIELD(sharedMemPerBlock, MaxSharedMemoryPerBlock);
    FIELD(regsPerBlock, MaxRegistersPerBlock);
    FIELD(warpSize, WarpSize);
    FIELD(memPitch, MaxPitch);
    FIELD(maxThreadsPerBlock, MaxThreadsPerBlock);
    FIELD(maxThreadsDim[0], MaxBlockDimX);
    FIELD(maxThreadsDim[1], MaxBlockDimY);
    FIELD(maxThreadsDim[2], MaxBlockDimZ);
    FIELD(maxGridSize[0], MaxGridDimX);
    FIELD(maxGridSize[1], MaxGridDimY);
    FIELD(maxGridSize[2], MaxGridDimZ);
    FIELD(totalConstMem, TotalConstantMemory);
    FIELD(major, ComputeCapabilityMajor);
    FIELD(minor, ComputeCapabilityMinor);
    FIELD(textureAlignment, TextureAlignment);
    FIELD(texturePitchAlignment, TexturePitchAlignment);
    FIELD(multiProcessorCount, MultiProcessorCount);
    FIELD(canMapHostMemory, CanMapHostMemory);
    FIELD(maxTexture1D, MaxTexture1DWidth);
    FIELD(maxTexture1DMipmap, MaxTexture1DMipmappedWidth);
    FIELD(maxTexture2D[0], MaxTexture2DWidth);
    FIELD(maxTexture2D[1], MaxTexture2DHeight);
    FIELD(maxTexture2DLinear[0], MaxTexture2DLinearWidth);
    FIELD(maxTexture2DLinear[1], MaxTexture2DLinearHeight);
    FIELD(maxTexture2DLinear[2], MaxTexture2DLinearPitch);
    FIELD(maxTexture2DGather[0], MaxTexture2DGatherWidth);
    FIELD(maxTexture2DGather[1], MaxTexture2DGatherHeight);
    FIELD(maxTexture3D[0], MaxTexture3DWidth);
    FIELD(maxTexture3D[1], MaxTexture3DHeight);
    FIELD(maxTexture3D[2], MaxTexture3DDepth);
    FIELD(maxTextureCubemap, MaxTextureCubemapWidth);
    FIELD(maxTexture1DLayered[0], MaxTexture1DLayeredWidth);
    FIELD(maxTexture1DLayered[1], MaxTexture1DLayeredLayers);
    FIELD(maxTexture2DLayered[0], MaxTexture2DLayeredWidth);
    FIELD(maxTexture2DLayered[1], MaxTexture2DLayeredHeight);
    FIELD(maxTexture2DLayered[2], MaxTexture2DLayeredLayers);
    FIELD(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth);
    FIELD(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight);
    FIELD(maxTexture3DAlt[0], MaxTexture3DWidthAlt);
    FIELD(maxTexture3DAlt[1], MaxTexture3DHeightAlt);
    FIELD(maxTexture3DAlt[2], MaxTexture3DDepthAlt);
    FIELD(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth);
    FIELD(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers);
    FIELD(maxSurface1D, MaxSurface1DWidth);
    FIELD(maxSurface2D[0], MaxSurface2DWidth);
    FIELD(maxSurface2D[1], MaxSurface2DHeight);
    FIELD(maxSurface3D[0], MaxSurface3DWidth);
    FIELD(maxSurface3D[1], MaxSurface3DHeight);
    FIELD(maxSurface3D[2], MaxSurface3DDepth);
    FIELD(maxSurface1DLayered[0], MaxSurface1DLayeredWidth);
    FIELD(maxSurface1DLayered[1], MaxSurface1DLayeredLayers);
    FIELD(maxSurface2DLayered[0], MaxSurface2DLayeredWidth);
    FIELD(maxSurface2DLayered[1], MaxSurface2DLayeredHeight);
    FIELD(maxSurface2DLayered[2], MaxSurface2DLayeredLayers);
    FIELD(maxSurfaceCubemap, MaxSurfaceCubemapWidth);
    FIELD(maxSurfaceCubemapLayered[0], MaxSurfaceCubemapLayeredWidth);
    FIELD(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers);
    FIELD(surfaceAlignment, SurfaceAlignment);
    FIELD(concurrentKernels, ConcurrentKernels);
    FIELD(asyncEngineCount, AsyncEngineCount);
    FIELD(unifiedAddressing, UnifiedAddressing);
    FIELD(memoryBusWidth, GlobalMemoryBusWidth);
    FIELD(l2CacheSize, L2CacheSize);
    FIELD(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor);
    FIELD(streamPrioritiesSupported, StreamPrioritiesSupported);
    FIELD(globalL1CacheSupported, GlobalL1CacheSupported);
    FIELD(localL1CacheSupported, LocalL1CacheSupported);
    FIELD(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor);
    FIELD(regsPerMultiprocessor, MaxRegistersPerMultiprocessor);
    FIELD(managedMemory, ManagedMemory);
    FIELD(hostNativeAtomicSupported, HostNativeAtomicSupported);
    FIELD(concurrentManagedAccess, ConcurrentManagedAccess);
    FIELD(computePreemptionSupported, ComputePreemptionSupported);
    FIELD(cooperativeLaunch, CooperativeLaunch);
    FIELD(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin);
    FIELD(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor);
    FIELD(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock);
    FIELD(hostRegisterSupported, HostRegisterSupported);
    FIELD(memoryPoolsSupported, MemoryPoolsSupported);
    FIELD(clusterLaunch, ClusterLaunch);
#undef FIELD
    p->hostNumaId = -1;
    p->deviceNumaId = -1;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    CHECK(device != NULL && wanted != NULL, cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaSetValidDevices(int *devices, int count) {
    for (int i = 0; i < count; i++)
        CHECK(gs_is_device(devices[i]), cudaErrorInvalidDevice);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetPCIBusId(char *text, int room, int device) {
    CHECK(text != NULL && room > 0, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    snprintf(text, room, "0000:%02x:00.0", (unsigned)device);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text) {
    unsigned domain, bus, slot;
    CHECK(device != NULL && text != NULL, cudaErrorInvalidValue);
    CHECK(sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3 && domain == 0 && slot == 0 && gs_is_device((int)bus),
          cudaErrorInvalidValue);
    *device = (int)bus;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    ENTER();
    uint64_t wanted = value;
    return gs_error(gs_board.limit(limit, 1, &wanted));
}

PUBLIC cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    ENTER();
    uint64_t known;
    CHECK(value != NULL, cudaErrorInvalidValue);
    TRY(gs_board.limit(limit, 0, &known));
    *value = known;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
    CHECK(config != NULL, cudaErrorInvalidValue);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
    CHECK(config != NULL, cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

static cudaError_t version(int *number) {
    CHECK(number != NULL, cudaErrorInvalidValue);
    *number = CUDART_VERSION;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDriverGetVersion(int *number) { return version(number); }
PUBLIC cudaError_t cudaRuntimeGetVersion(int *number) { return version(number); }

const char *gs_device_name = "virtual GPU";
PUBLIC void gs_set_device_name(const char *name) { gs_device_name = strdup(name); }

/* What kernels print goes where the program's own printf goes, in the same order. */
/* For our libraries (libraries/objects.h). */
/* A name without the ending of a newer form, cublasCreate_v2's, as programs write it. */
PUBLIC int gs_library_call(const char *function, const char *library) {
    char name[64];
    if (!gs_board.tells_calls || strncmp(function, library, strlen(library)) != 0)
        return 0;
    snprintf(name, sizeof name, "%s", function);
    if (strlen(name) > 3 && strcmp(name + strlen(name) - 3, "_v2") == 0)
        name[strlen(name) - 3] = 0;
    return gs_board.called(name) != 0;
}

PUBLIC void gs_object(int kind, int change) { gs_board.object(kind, change); }

PUBLIC void gs_print(const char *text, uint64_t bytes) { fwrite(text, 1, bytes, stdout); }

volatile int gs_ended;
static pthread_t ends;
static int is_child; /* what the program's process says at its end is not said by what it forked, too */

void gs_stop_others(void) {
    while (!pthread_equal(pthread_self(), ends))
        pause();
}

/* Another thread may still be in a call, in code that the handlers behind this one take apart: so there are none. */
static void finish(int status, void *unused) {
    (void)unused;
    ends = pthread_self();
    gs_ended = 1;
    gs_give_back_all();
    if (!is_child)
        gs_tell_failed();
    const int found = is_child ? 0 : gs_board.finish();
    fflush(NULL);
    _exit(status != 0 ? status : found);
}

/* Loads the program and is it until it ends; comes back with a reason only where it cannot be loaded. */
static void forked(void) {
    gs_forked();
    is_child = 1;
}

PUBLIC const char *gs_run(const char *program, int count, char **arguments) {
    extern char **environ;
    pthread_atfork(NULL, NULL, forked);
    on_exit(finish, NULL); /* before the program's own: what its global objects free in their destructors is no leak */
    void *library = dlopen(program, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return dlerror();
    if (gs_board.orders)
        gs_lead_host_calls(library);
    int (*start)(int, char **, char **) = NULL;
    for (const char **name = (const char *[]){"gs_program_main", "main", NULL}; start == NULL && *name; name++)
        *(void **)&start = dlsym(library, *name); /* the first: of an executable, whose main may be hidden */
    if (start == NULL)
        return "it has no main()";
    int status = start(count, arguments, environ);
    gs_board.settle();
    exit(status);
}

/* Code is about to be compiled in the background: the program may call exit() meanwhile, from anywhere. */
PUBLIC void gs_settle_at_exit(void) { atexit(gs_board.settle); }

PUBLIC struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
