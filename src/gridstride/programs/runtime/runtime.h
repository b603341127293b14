/* What the files of our libcudart share: the callbacks into Python, errors, memory, modules and kernels.
 *
 * Handles, tables and errors live here in C; what loads, compiles and runs is Python's (programs/calls/board.py).
 */
#ifndef GRIDSTRIDE_RUNTIME_H
#define GRIDSTRIDE_RUNTIME_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_names.h" /* runtime_functions.py */
#include <cuda_runtime_api.h>
#include <driver_functions.h>

#define PUBLIC __attribute__((visibility("default")))

/* The layout of a kernel, as its PTX declares it. Python owns the arrays. */
typedef struct {
    int64_t number;
    int64_t count;            /* parameters */
    const uint32_t *offsets;
    const uint32_t *sizes;
    int64_t bytes;            /* of all parameters */
    int64_t static_shared;
    int64_t local;            /* bytes of a thread */
    int64_t constants;        /* bytes of the module's __constant__ variables */
    int64_t max_threads;
    int64_t cluster[3];       /* as the kernel requires it, else 0 */
} KernelLayout;

typedef struct {
    int64_t kernel;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t cooperative;
    uint64_t shared;
    int64_t partition; /* gs_partition */
    const void *parameters;
    int64_t bytes;
    uint64_t stream; /* gs_stream_number */
    int64_t device;
} Launch;

/* Texels, and how they are laid out. `pitch` is 0 for a CUDA array, else the bytes from row to row of linear memory. */
typedef struct {
    uint64_t address;
    int64_t kind, bits, channels; /* cudaChannelFormatKind; bits of a channel */
    int64_t width, height, depth, layers, cubemap, levels, surface, pitch;
} Image;

/* cudaTextureDesc in numbers of one size. */
typedef struct {
    int64_t address[3], filter, read, srgb, normalized, mipmap_filter;
    double border[4], bias, low, high;
} Sampling;

/* What cuTensorMapEncodeTiled and Im2col are asked for; `map` is where the 128 bytes go. */
typedef struct {
    uint64_t map, address;
    int64_t rank, type, interleave, swizzle, nan, im2col;
    int64_t sizes[5], strides[5], box[5], steps[5], low[3], high[3];
} TensorMapOrder;

typedef void LateCall(void *argument); /* work that is put off */

/* Filled in by Python before anything else runs. Functions that can fail return a cudaError_t. */
typedef struct {
    uint64_t arena, arena_bytes;
    const char *vendor_runtime; /* path of NVIDIA's libcudart, asked for the words of error codes only */
    const char *vendor_nvrtc;   /* and of its libnvrtc, which compiles without a GPU too */
    const char *vendor_jit_link; /* and of its libnvJitLink, NULL where it is not installed */
    int64_t watches;            /* whether written() wants to be called: under the sanitizer */
    int64_t models;             /* whether the functions at the end want to be called: the timeline is modelled, or
                                   MODELS_LATE: work is put off */
    int64_t orders;             /* whether those behind these do */
    int64_t tells_calls;        /* whether called() wants to be called */
    int64_t devices;            /* how many GPUs the program sees, at most GS_MOST_DEVICES */
    int64_t peers;              /* whether these may use each other's memory */
    int64_t shared;             /* descriptor of memory for cudaHostRegister; -1 where the system gives it */
    uint64_t (*allocate)(uint64_t bytes, int64_t device); /* -1: memory that every GPU reaches */
    int (*release)(uint64_t address);
    int (*load)(const void *const *images, int64_t count, int64_t device, int64_t *module);
    void (*unload)(int64_t module);
    int (*kernel)(int64_t module, const char *name, KernelLayout *layout);
    int (*variable)(int64_t module, const char *name, uint64_t *address, uint64_t *bytes);
    void (*share)(int64_t module, const char *name, uint64_t address); /* a __managed__ variable */
    int (*launch)(const Launch *launch);
    int (*called)(const char *name); /* a function of the runtime by its name, before it does anything */
    void (*written)(uint64_t address, uint64_t bytes);
    int64_t (*holds)(uint64_t address, uint64_t bytes);
    int (*attribute)(int64_t number, int64_t *value);
    int64_t (*registers)(int64_t kernel);
    int64_t (*active_blocks)(int64_t kernel, int64_t threads, int64_t dynamic_shared);
    int64_t (*active_clusters)(int64_t kernel, int64_t threads, int64_t dynamic_shared, int64_t blocks,
                               int64_t partition);
    int64_t (*partition)(const uint32_t *multiprocessors, int64_t count); /* a number of them, from 1 on */
    int (*limit)(int64_t which, int64_t set, uint64_t *value); /* `set`: 1, 0 to ask, RESET_LIMIT as the device begins anew */
    void (*free_memory)(int64_t device, uint64_t *available, uint64_t *total);
    int (*peer_access)(int64_t device, int64_t peer, int64_t enabled);
    int64_t (*create_pool)(uint64_t most); /* bytes that it may hold, 0 for any */
    void (*destroy_pool)(int64_t pool);
    int (*pooled)(int64_t pool, uint64_t address, uint64_t bytes); /* what was allocated there is a pool's, if it may */
    void (*imported)(int64_t pool, uint64_t address); /* the same of another process' pool: nothing to reckon with */
    void (*trim_pool)(int64_t pool, uint64_t keep);
    int (*pool_attribute)(int64_t pool, int64_t attribute, int64_t set, uint64_t *value); /* a cudaMemPoolAttr */
    void (*pool_access)(int64_t pool, int64_t device, int64_t enabled);
    int (*texture)(const Image *image, const Sampling *sampling, uint64_t *handle);
    int (*surface)(const Image *image, uint64_t *handle);
    int (*destroy_object)(uint64_t handle);
    /* A call that returned an error at which the program has not looked, or only where it called: `kernel` is NULL but
     * for a launch, `site` where the call returned to, `stack` addresses from there outwards. */
    void (*failed)(const char *call, const char *kernel, const char *error, const char *words, const void *site,
                   void *const *stack, int64_t frames, int64_t times);
    int (*finish)(void); /* when the program has ended by itself: the exit status where its own is 0 */
    void (*settle)(void); /* before destructors run: no code is compiled in the background from then on */
    /* Before bytes move; `kind` is a cudaMemcpyKind but never the default, or COPY_TO_PEER. */
    int (*copy)(uint64_t bytes, int64_t kind, uint64_t stream, int64_t pageable, int64_t waits, uint64_t to,
                uint64_t from, /* addresses are 0 where the bytes do not lie together */
                int64_t to_device, int64_t from_device); /* of a host's side the other's */
    void (*waited)(int64_t what, uint64_t number); /* the host waits for a WAITED_ of that number */
    void (*graph_call)(int64_t what, int64_t nodes); /* one of the GRAPH_, of a graph of so many nodes */
    void (*object)(int64_t kind, int64_t change);  /* one of the OBJECT_ was made (1) or destroyed (-1) */
    /* Code that the program gives while it runs: kept under a number, and loaded as often as wanted. `kind` is one of
     * the CODE_, `bytes` 0 where it is not known; what is wrong is written to `log`, of `room` bytes. */
    int (*code)(const void *image, uint64_t bytes, int64_t kind, int64_t *code, char *log, uint64_t room);
    int (*link_code)(const int64_t *codes, int64_t count, int64_t *code, char *log, uint64_t room);
    int (*code_image)(int64_t code, const void **image, uint64_t *bytes); /* as cuModuleLoadData takes it again */
    int (*load_code)(int64_t code, int64_t device, int64_t *module, char *log, uint64_t room);
    const char *(*entry)(int64_t module, int64_t number); /* the name of a kernel; NULL behind the last */
    int (*tensor_map)(const TensorMapOrder *order);
    /* The timeline, of streams and events by number (gs_stream_number, an event's address). */
    void (*add_stream)(uint64_t stream, int64_t flags, int64_t priority, int64_t device);
    void (*fill)(uint64_t bytes, uint64_t stream, uint64_t to, int64_t device); /* 0 as above */
    void (*host_function)(uint64_t stream);
    void (*spent)(int64_t call);                      /* one of the SPENT_ */
    void (*record)(uint64_t event, uint64_t stream);
    void (*follow)(uint64_t stream, uint64_t event);
    void (*pool_memory)(uint64_t stream, uint64_t address, uint64_t bytes, int64_t given); /* to the stream, or back */
    int64_t (*is_done)(int64_t what, uint64_t number); /* a WAITED_ of that number */
    double (*elapsed_ms)(uint64_t start, uint64_t end); /* NaN: not yet */
    void (*begin_graph)(uint64_t stream, int64_t nodes);
    void (*node)(uint64_t node, const uint64_t *after, int64_t count); /* what comes next is this node's */
    void (*end_graph)(void);
    double (*now_us)(void);                           /* the host's modelled clock */
    /* Where the device is late: work of a stream; what is to be done when all that was given before has been done, in
     * a stream where one is given (0 for none), as memory at `address` is given back by it. */
    void (*put_off)(uint64_t stream, LateCall *work, void *argument);
    void (*give_back)(uint64_t address, uint64_t stream, LateCall *work, void *argument);
    /* Where the order of work is watched: it begins to use memory or has ended (1, -1); sides of the next copy or fill
     * whose bytes do not lie together; a function of the host is over; the host uses guarded memory. */
    void (*using)(int64_t change);
    void (*rows)(uint64_t start, uint64_t width, uint64_t pitch, uint64_t rows, int64_t writes);
    void (*host_returned)(void);
    int64_t (*touched)(uint64_t address, uint64_t bytes, int64_t writes, const uint64_t *stack, int64_t frames);
    void (*gone_frame)(uint64_t address, uint64_t bytes); /* a graph's copy uses the stack of nobody */
    void (*value_written)(uint64_t stream, uint64_t address, uint64_t bytes, uint64_t value);
    void (*value_waited)(uint64_t stream, uint64_t address, uint64_t bytes, uint64_t value, uint64_t how);
    void (*source_read)(void); /* the last copy's, by the time its call returns */
} Board;

enum { GS_MOST_DEVICES = 16 };
enum { RESET_LIMIT = 2 }; /* as limits.py has it */
enum { OWNER_EVERYONE = -1, OWNER_HOST = -2 }; /* as peers.py has them */
enum { MOST_BLOCKS_IN_CLUSTER = 16, PORTABLE_CLUSTER = 8 }; /* the first as hardware_limits.py has it */
enum { MODELS_LATE = 2, MODELS_ORDER = 3 }; /* as late_work.py and stream_order.py have them */
enum { CODE_ANY, CODE_PTX, CODE_FAT_BINARY, CODE_OBJECT };
enum { CODE_REGISTERS = 8 }; /* by so many bits higher the most registers that a thread of its kernels may have */
enum { COPY_TO_PEER = 5 }; /* behind the last cudaMemcpyKind */
enum { WAITED_DEVICE, WAITED_STREAM, WAITED_EVENT, WAITED_FREE }; /* the last: for the device, in cudaFree */
enum { SPENT_ALLOCATE, SPENT_FREE, SPENT_QUEUED, SPENT_MANAGED };
enum { GRAPH_NODE_ADDED, GRAPH_INSTANTIATED, GRAPH_LAUNCHED, GRAPH_KERNEL, GRAPH_UPDATED, GRAPH_NODE_SET,
       GRAPH_CONDITION };
/* In the order of OBJECTS in objects.py. */
enum { OBJECT_STREAM, OBJECT_EVENT, OBJECT_GRAPH, OBJECT_INSTANCE, OBJECT_TEXTURE, OBJECT_SURFACE, OBJECT_POOL,
       OBJECT_GREEN, OBJECT_BLAS, OBJECT_FFT, OBJECT_RANDOM, OBJECT_SPARSE };

/* Tells whoever watches the order of work. */
#define ORDER(call) do { if (gs_board.orders) gs_board.call; } while (0)
/* Tells the timeline, where there is one. */
#define MODEL(call) do { if (gs_board.models) gs_board.call; } while (0)

extern Board gs_board;
extern int gs_tells_calls; /* of the doors that runtime_functions.py writes */

/* -- errors -------------------------------------------------------------------------------------------------------- */
/* Remembers an error for cudaGetLastError and gives it back. */
cudaError_t gs_error(cudaError_t error);
/* The driver's functions leave it as it was. */
void gs_keep_last_error(void);
/* Under the sanitizer: what fails from now on in this thread is this call, of the program's. */
void gs_begin_call(const char *name, const void *site, const void *kernel);
cudaError_t gs_fail_call(cudaError_t error); /* the call was made to fail, before it did anything */
void gs_launch_configured(const void *site); /* the same of <<<>>>, whose launch comes from a function of nvcc's */
void gs_tell_failed(void); /* the board, at the program's end */
void gs_restore_last_error(void);
/* A kernel's fault, once it happened: every later call reports it. */
cudaError_t gs_fault(void);
PUBLIC void gs_set_fault(cudaError_t error);
/* Says once on stderr that a function is refused, and why. */
cudaError_t gs_refused(const char *name, const char *reason);

#define CHECK(condition, error) do { if (!(condition)) return gs_error(error); } while (0)
#define TRY(call) do { cudaError_t tried_ = (call); if (tried_ != cudaSuccess) return gs_error(tried_); } while (0)
#define ENTER() do { gs_enter(); CHECK(!gs_in_host_function, cudaErrorNotPermitted); \
    cudaError_t fault_ = gs_fault(); if (fault_ != cudaSuccess) return fault_; } while (0)
extern _Thread_local int gs_in_host_function; /* a stream's or a graph's is under way in this thread: it may not call */

/* -- a late device (late.c) ---------------------------------------------------------------------------------------- */
/* Whether what a stream is given now is to be put off. */
int gs_is_late(void);
/* Puts it off; the argument's bytes are copied. Its calls are made later with the same arguments, and are not checked
 * for the host again. */
cudaError_t gs_put_off(cudaStream_t stream, void (*work)(const void *argument), const void *argument, size_t bytes);
/* Does all that has been put off: before a call that changes what it uses. */
void gs_catch_up(void);
/* guarded_pages.c: ranges of pages that the host must not use now, three words each: start, end, whether it may read. */
PUBLIC void gs_guard(const uint64_t *words, int64_t ranges);
void gs_open_for_work(const void *pointer, size_t bytes); /* work that was told of uses them now, */
void gs_close_for_work(const void *pointer, size_t bytes); /* and has */
void gs_tell_host_use(const void *pointer, size_t bytes, int writes, const void *site); /* by the system for the host */
void gs_lead_host_calls(void *program); /* host_calls.c: of a loaded program, to functions that tell it */

/* -- devices ------------------------------------------------------------------------------------------------------- */
int gs_current(void); /* the calling thread's GPU */
void gs_make_current(int device);
int gs_is_device(int device);
void gs_forget_peers(int device);
void gs_reset_device(int device); /* as cudaDeviceReset */
cudaError_t gs_properties(struct cudaDeviceProp *properties, int device);
int gs_is_of(const void *pointer, int device); /* whether device memory at an address is that GPU's */

/* -- contexts (driver/contexts.c) ---------------------------------------------------------------------------------- */
typedef struct CUctx_st Context;
extern _Thread_local Context *gs_context; /* the calling thread's; NULL for none */
void gs_use_primary(int device);          /* makes a GPU's primary context the thread's */
int gs_is_alive(const Context *context);
int gs_is_primary(const Context *context);
int gs_context_device(const Context *context);
Context *gs_owner(void); /* of what is made now: gs_context, of a green one (execution_contexts.c) the primary one */
/* Which multiprocessors a stream's work has, as the board calls them: 0 for all. */
int64_t gs_partition(cudaStream_t stream);
extern _Thread_local int64_t gs_node_partition; /* while a graph's node is run, and from 1 on */
extern volatile int gs_ended; /* one thread has called exit() */
void gs_stop_others(void);    /* stays, on any other one */
PUBLIC void gs_forked(void);  /* in the child */
int gs_is_forked(void);       /* from a process that had used a GPU: there is none here */
void gs_await_host_function(void); /* that this thread has given and that still runs */
/* The runtime's calls make a primary context current where there is none. */
static inline void gs_enter(void) {
    if (gs_ended)
        gs_stop_others();
    gs_await_host_function();
    if (gs_context == NULL)
        gs_use_primary(gs_current());
}

/* -- host_pages.c ------------------------------------------------------------------------------------------------- */
/* Whole pages of the program's memory at a second place, too, until they are hidden again; 0 where it cannot be. */
int gs_show_pages(uint64_t first, uint64_t there, uint64_t length);
void gs_hide_pages(uint64_t first, uint64_t length);

/* -- ipc.c --------------------------------------------------------------------------------------------------------- */
void gs_stop_sharing(uint64_t start);   /* memory that is freed */
void gs_refuse_to_open(uint64_t start); /* memory that is to be freed later */
void gs_stop_sharing_event(cudaEvent_t event);
int gs_close_import(void *pointer);       /* once of as often as it was opened; 0 where it is none */
void gs_forget_import(uint64_t address);  /* whatever opened it; its block is forgotten by now */

/* -- memory -------------------------------------------------------------------------------------------------------- */
typedef enum { GS_HOST, GS_DEVICE, GS_MANAGED, GS_PINNED, GS_REGISTERED } MemoryKind;

typedef struct {
    uint64_t start, bytes;
    MemoryKind kind;
    uint64_t device; /* where kernels see it; another address than `start` for registered memory */
    unsigned flags;
    int owner; /* the GPU that was current when it was allocated */
    const Context *context; /* and the context */
    int64_t pool; /* of what a memory pool gave its number, counted from 1; else 0 */
} Block;

enum {
    GS_OF_A_GRAPH = 1u << 31, /* a flag of memory that an allocation node has promised */
    GS_IMPORTED = 1u << 30,   /* and of another process' memory */
    GS_MAPPED = 1u << 28,     /* of addresses that were reserved, which only cuMemAddressFree gives back */
    GS_FREED_IMPORT = 1u << 29, /* the same from a pool, or external: cudaFree gives it back */
};
static inline int gs_is_import(const Block *block) {
    return block->flags == GS_IMPORTED || block->flags == GS_FREED_IMPORT;
}

int gs_block(const void *address, Block *block);       /* the block that holds an address; 0 for none */
/* late.c: a block that was taken out of the table goes when what was given before it, in a stream or (NULL) anywhere,
 * has been done; until then gs_block() knows it only for that work. */
void gs_give_back_later(const Block *block, const cudaStream_t *stream);
/* Whether it is in such a block, and whether that was given back only behind the work that runs: then which one. */
enum { GIVEN_BACK = 1, GIVEN_BACK_LATER };
int gs_is_given_back(const void *address, Block *block);
void gs_give_back_all(void);                             /* at the program's end */
void gs_remember(uint64_t start, uint64_t bytes, MemoryKind kind, uint64_t device, unsigned flags);
void gs_remember_pool(uint64_t start, int64_t pool); /* that it came from there */
void gs_forget_all(int device, const Context *context); /* what is its, of a primary one all that is no other's */
void gs_forget_advice(uint64_t start, uint64_t bytes); /* of managed memory that is given back */
void gs_return_to_graph(const void *address); /* memory of an allocation node is freed: the graph may be launched again */
int gs_in_arena(const void *address);
int gs_reaches(const void *address, size_t bytes);    /* whether so many bytes there may be copied */
void gs_written(const void *address, size_t bytes);
cudaError_t gs_malloc_async(void **pointer, size_t bytes, cudaStream_t stream, int64_t pool, int device,
                            MemoryKind kind);
int64_t gs_current_pool(int device);
/* `waits`: whether the call comes back only when the copy is done. */
cudaError_t gs_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream, int waits);

/* One side of a copy of boxes: where it begins, and bytes from row to row and from slice to slice. */
typedef struct {
    char *start;
    size_t row, slice;
} Side;
cudaError_t gs_copy_box(Side to, Side from, size_t width, size_t height, size_t depth, enum cudaMemcpyKind kind,
                        cudaStream_t stream, int waits);

void gs_image_of(const struct cudaArray *array, Image *image);
const struct cudaArray *gs_first_level(cudaMipmappedArray_const_t mipmap);

/* -- modules ------------------------------------------------------------------------------------------------------- */
typedef struct Kernel Kernel;
typedef struct Module Module;
cudaError_t gs_kernel(const void *function, Kernel **kernel);
/* A module of code given at run time. `context`: whose it is; NULL for a library, which any GPU may load. */
Module *gs_new_module(int64_t code, const Context *context);
int gs_is_module(const Module *module);
int gs_is_library(const Module *module);
cudaError_t gs_load_module(Module *module, char *log, uint64_t room);
void gs_unload_module(Module *module);
cudaError_t gs_module_kernel(Module *module, const char *name, Kernel **kernel);
cudaError_t gs_module_variable(Module *module, const char *name, uint64_t *address, uint64_t *bytes);
const char *gs_module_entry(Module *module, int64_t number); /* the name of a kernel; NULL behind the last */
Module *gs_kernel_module(const Kernel *kernel);
int gs_kernel_loaded(const Kernel *kernel);
cudaError_t gs_kernel_layout(Kernel *kernel, const KernelLayout **layout);
const char *gs_kernel_name(const Kernel *kernel);
const void *gs_kernel_function(const Kernel *kernel); /* what the program calls it by */
cudaError_t gs_symbol(const void *symbol, uint64_t *address, uint64_t *bytes);
void gs_unload_modules(int device);             /* those that are no context's: linked with the program, libraries */
void gs_unload_context(const Context *context); /* those that were loaded while the context was current */
int64_t gs_max_dynamic(const Kernel *kernel);
void gs_set_max_dynamic(Kernel *kernel, int64_t bytes);
void gs_set_carveout(Kernel *kernel, int percent);
int gs_carveout(const Kernel *kernel);
void gs_allow_any_cluster(Kernel *kernel, int allowed);
int64_t gs_most_cluster(const Kernel *kernel); /* blocks that a cluster of it may have */

/* -- streams ------------------------------------------------------------------------------------------------------- */
int gs_is_stream(cudaStream_t stream);
cudaError_t gs_no_stream(cudaStream_t stream); /* the error that one gives which is none */
int gs_is_default(cudaStream_t stream);
/* Whether the program's stream 0 is each thread's own (--default-stream per-thread): its calls have names of their own. */
extern int gs_zero_is_the_threads;
static inline cudaStream_t gs_named(cudaStream_t stream) {
    return stream != NULL ? stream : gs_zero_is_the_threads ? cudaStreamPerThread : cudaStreamLegacy;
}
int gs_stream_device(cudaStream_t stream); /* of a default stream the current one */
/* A stream's address; of GPU d 2d + 1 is the legacy default stream, 2d + 2 the thread's own. */
uint64_t gs_stream_number(cudaStream_t stream);
int gs_is_event(cudaEvent_t event);
int64_t gs_attribute(int number);

/* -- launches ------------------------------------------------------------------------------------------------------ */
/* The error that the launch's shape gives. */
cudaError_t gs_check_launch(const Kernel *kernel, const KernelLayout *layout, dim3 grid, dim3 block, size_t shared);
cudaError_t gs_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, int cooperative,
                      dim3 cluster, cudaStream_t stream);

#endif
