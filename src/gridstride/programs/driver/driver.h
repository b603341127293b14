/* What the files of our libcuda share. It lies in the same library as our libcudart: one board, and the same streams,
 * events, memory and kernels. A context is a device, and what was made while it was current.
 */
#ifndef GRIDSTRIDE_DRIVER_H
#define GRIDSTRIDE_DRIVER_H

#include <cuda.h>

#include "runtime.h"

struct CUctx_st {
    int state;
    int device;
    int primary;
    int uses;         /* of a primary one: how often the program retains it; the runtime's use is not counted */
    int runtime_uses; /* whether the runtime does */
    unsigned flags;
    unsigned long long id;
    int64_t partition; /* of a green one its multiprocessors, as the board calls them; else 0 */
    Context *next;
};

int gs_initialised(void);
int gs_is_context(const Context *context); /* one that is there */
unsigned long long gs_next_context_id(void);
Context *gs_retain_primary(int device); /* as cuDevicePrimaryCtxRetain, from the runtime too */
Context *gs_primary(int device);           /* is there, whether anybody uses it or not */

/* The runtime's error as the driver calls it. */
CUresult gs_result(cudaError_t error);
/* The same behind gs_keep_last_error: the runtime's last error is nothing that the driver's functions change. */
CUresult gs_driver_result(cudaError_t error);

/* What a call of the runtime's gives, in a function of the driver's. */
#define RUNTIME(call) (gs_keep_last_error(), gs_driver_result(call))
#define NEED(condition, result) do { if (!(condition)) return (result); } while (0)
#define GIVE(call) do { CUresult given_ = (call); if (given_ != CUDA_SUCCESS) return given_; } while (0)

/* Whether the driver is initialised, and the thread has a context that is there, and nothing has gone wrong in it. */
CUresult gs_enter_driver(void);
#define ENTER_DRIVER() GIVE(gs_enter_driver())
#define ENTER_INITIALISED() NEED(gs_initialised(), CUDA_ERROR_NOT_INITIALIZED)

/* The options of cuModuleLoadDataEx that say something here: where the logs go. The values are numbers or pointers. */
typedef struct {
    char *error, *info;
    uint64_t error_room, info_room;
    void **error_bytes, **info_bytes; /* take how much was written */
} Logs;

CUresult gs_read_options(unsigned count, CUjit_option *options, void **values, Logs *logs);
void gs_count_logs(const Logs *logs); /* says how much was written */
int gs_is_device_runtime(const void *data, size_t bytes);
CUresult gs_read_file(const char *path, char **data, size_t *bytes); /* with a zero behind; to be freed */

struct cudaChannelFormatDesc gs_format(CUarray_format format, unsigned channels);
CUarray_format gs_format_of(struct cudaChannelFormatDesc desc);
unsigned gs_channels_of(struct cudaChannelFormatDesc desc);
size_t gs_texel_bytes(cudaArray_const_t array);
CUresult gs_box_copy(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *as);
/* Parameters of a launch as they lie in `extra`, each by its address; to be freed. NULL with a result that is none. */
CUresult gs_arguments(const void *function, void **parameters, void **extra, void ***arguments);

#define ARRAY(handle) ((cudaArray_t)(handle))
#define MIPMAP(handle) ((cudaMipmappedArray_t)(handle))

#endif
