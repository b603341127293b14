/* Code that the program gives: its logs, files of it, and several pieces linked to one. */
#define _GNU_SOURCE
#include "driver.h"

CUresult gs_read_options(unsigned count, CUjit_option *options, void **values, Logs *logs) {
    *logs = (Logs){0};
    NEED(count == 0 || (options != NULL && values != NULL), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++)
        switch (options[i]) {
        case CU_JIT_ERROR_LOG_BUFFER:
            logs->error = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            logs->error_bytes = &values[i], logs->error_room = (uint32_t)(uintptr_t)values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER:
            logs->info = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            logs->info_bytes = &values[i], logs->info_room = (uint32_t)(uintptr_t)values[i];
            break;
        case CU_JIT_WALL_TIME:
            *(float *)&values[i] = 0;
            break;
        default: /* registers, optimization and what else an assembler does */
            NEED(options[i] >= 0 && options[i] < CU_JIT_NUM_OPTIONS, CUDA_ERROR_INVALID_VALUE);
        }
    if (logs->error == NULL)
        logs->error_room = 0;
    if (logs->error_room > 0)
        logs->error[0] = 0;
    if (logs->info != NULL && logs->info_room > 0)
        logs->info[0] = 0;
    return CUDA_SUCCESS;
}

void gs_count_logs(const Logs *logs) {
    if (logs->error_bytes != NULL)
        *logs->error_bytes = (void *)(uintptr_t)(logs->error_room ? strlen(logs->error) : 0);
    if (logs->info_bytes != NULL)
        *logs->info_bytes = NULL;
}

CUresult gs_read_file(const char *path, char **data, size_t *bytes) {
    NEED(path != NULL, CUDA_ERROR_INVALID_VALUE);
    FILE *file = fopen(path, "rb");
    NEED(file != NULL, CUDA_ERROR_FILE_NOT_FOUND);
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    *data = length >= 0 ? malloc(length + 1) : NULL;
    rewind(file);
    int read = *data != NULL && fread(*data, 1, length, file) == (size_t)length;
    fclose(file);
    if (!read) {
        free(*data);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    (*data)[length] = 0;
    *bytes = length;
    return CUDA_SUCCESS;
}

enum { LINKING = 0x4c494e4b, DESTROYED = 0 };

struct CUlinkState_st {
    int state;
    Logs logs;
    int64_t *codes;
    size_t count;
};

PUBLIC CUresult CUDAAPI cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *made) {
    Logs logs;
    ENTER_DRIVER();
    NEED(made != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_read_options(count, options, values, &logs));
    *made = calloc(1, sizeof **made);
    **made = (struct CUlinkState_st){.state = LINKING, .logs = logs};
    return CUDA_SUCCESS;
}

static int kind_of(CUjitInputType type) {
    switch (type) {
    case CU_JIT_INPUT_PTX:
        return CODE_PTX;
    case CU_JIT_INPUT_FATBINARY:
        return CODE_FAT_BINARY;
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
        return CODE_OBJECT;
    default:
        return CODE_ANY;
    }
}

/* libcudadevrt.a: what kernels call to launch others and to meet as a grid is the virtual GPU's own. */
int gs_is_device_runtime(const void *data, size_t bytes) {
    static const char archive[] = "!<arch>\n", member[] = "cuda_device_runtime.o";
    return bytes > sizeof archive && memcmp(data, archive, sizeof archive - 1) == 0 &&
           memmem(data, bytes, member, sizeof member - 1) != NULL;
}

static CUresult add(CUlinkState state, CUjitInputType type, const void *data, size_t bytes) {
    int64_t code;
    NEED(state != NULL && state->state == LINKING, CUDA_ERROR_INVALID_HANDLE);
    NEED(data != NULL && bytes != 0 && type >= 0 && type < CU_JIT_NUM_INPUT_TYPES, CUDA_ERROR_INVALID_VALUE);
    if (type == CU_JIT_INPUT_LIBRARY && gs_is_device_runtime(data, bytes))
        return CUDA_SUCCESS;
    const Logs *logs = &state->logs;
    cudaError_t error = gs_board.code(data, bytes, kind_of(type), &code, logs->error, logs->error_room);
    gs_count_logs(logs);
    GIVE(gs_result(error));
    state->codes = realloc(state->codes, (state->count + 1) * sizeof *state->codes);
    state->codes[state->count++] = code;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
                                      const char *name, unsigned count, CUjit_option *options, void **values) {
    (void)name, (void)count, (void)options, (void)values;
    ENTER_DRIVER();
    return add(state, type, data, bytes);
}

PUBLIC CUresult CUDAAPI cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                                      CUjit_option *options, void **values) {
    char *data;
    size_t bytes;
    (void)count, (void)options, (void)values;
    ENTER_DRIVER();
    const char *file = path != NULL && strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (file != NULL && type == CU_JIT_INPUT_LIBRARY && strcmp(file, "libcudadevrt.a") == 0)
        return CUDA_SUCCESS; /* wherever it is said to be */
    GIVE(gs_read_file(path, &data, &bytes));
    CUresult result = add(state, type, data, bytes);
    free(data);
    return result;
}

PUBLIC CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **image, size_t *bytes) {
    int64_t code;
    const void *made;
    uint64_t length;
    ENTER_DRIVER();
    NEED(state != NULL && state->state == LINKING, CUDA_ERROR_INVALID_HANDLE);
    NEED(image != NULL && state->count > 0, CUDA_ERROR_INVALID_VALUE);
    const Logs *logs = &state->logs;
    cudaError_t error = gs_board.link_code(state->codes, state->count, &code, logs->error, logs->error_room);
    gs_count_logs(logs);
    GIVE(gs_result(error));
    GIVE(gs_result(gs_board.code_image(code, &made, &length)));
    *image = (void *)made;
    if (bytes != NULL)
        *bytes = length;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuLinkDestroy(CUlinkState state) {
    ENTER_DRIVER();
    NEED(state != NULL && state->state == LINKING, CUDA_ERROR_INVALID_HANDLE);
    state->state = DESTROYED;
    free(state->codes);
    state->codes = NULL;
    return CUDA_SUCCESS;
}
