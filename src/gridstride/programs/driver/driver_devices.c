/* Devices, as the driver names them: a CUdevice is the runtime's number. */
#include "driver.h"

extern const char *gs_device_name;

PUBLIC CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER_INITIALISED();
    NEED(device != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetName(char *name, int room, CUdevice device) {
    ENTER_INITIALISED();
    NEED(name != NULL && room > 0, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, room, "%s", gs_device_name);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    struct cudaDeviceProp properties;
    ENTER_INITIALISED();
    NEED(uuid != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    GIVE(RUNTIME(gs_properties(&properties, device)));
    memcpy(uuid, &properties.uuid, sizeof *uuid);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    uint64_t available, total;
    ENTER_INITIALISED();
    NEED(bytes != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    gs_board.free_memory(device, &available, &total);
    *bytes = total;
    return CUDA_SUCCESS;
}

/* Numbers that only the driver's list has, and of which the chip's table knows nothing, are 0: not supported. */
PUBLIC CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    int64_t known = 0;
    ENTER_INITIALISED();
    NEED(value != NULL && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
        attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
        known = 1; /* which the runtime has no calls for */
    else if (gs_board.attribute(attribute, &known) != cudaSuccess)
        known = 0;
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device : (int)known;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    GIVE(cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

PUBLIC CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *p, CUdevice device) {
    struct cudaDeviceProp all;
    ENTER_INITIALISED();
    NEED(p != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    GIVE(RUNTIME(gs_properties(&all, device)));
    *p = (CUdevprop){.maxThreadsPerBlock = all.maxThreadsPerBlock, .sharedMemPerBlock = (int)all.sharedMemPerBlock,
                     .totalConstantMemory = (int)all.totalConstMem, .SIMDWidth = all.warpSize,
                     .memPitch = (int)all.memPitch, .regsPerBlock = all.regsPerBlock,
                     .clockRate = (int)gs_attribute(cudaDevAttrClockRate),
                     .textureAlign = (int)all.textureAlignment};
    memcpy(p->maxThreadsDim, all.maxThreadsDim, sizeof p->maxThreadsDim);
    memcpy(p->maxGridSize, all.maxGridSize, sizeof p->maxGridSize);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice device) {
    ENTER_INITIALISED();
    NEED(supported != NULL && type >= 0 && type < CU_EXEC_AFFINITY_TYPE_MAX, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    *supported = 0;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
                                                           CUdevice device) {
    ENTER_INITIALISED();
    struct cudaChannelFormatDesc described = gs_format(format, channels);
    return RUNTIME(cudaDeviceGetTexture1DLinearMaxWidth(width, &described, device));
}

/* Known before cuInit. */
PUBLIC CUresult CUDAAPI cuDriverGetVersion(int *version) {
    NEED(version != NULL, CUDA_ERROR_INVALID_VALUE);
    return RUNTIME(cudaDriverGetVersion(version));
}
