/* One transform on several GPUs, and plans by the types of their sides: see cufft.h, of which this is a part.
 *
 * Complex transforms only, of default layout. Halves and callbacks are not there.
 */
#ifndef _CUFFTXT_H_
#define _CUFFTXT_H_

#include "cudalibxt.h"
#include "cufft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cufftXtSubFormat_t {
    CUFFT_XT_FORMAT_INPUT = 0x00,
    CUFFT_XT_FORMAT_OUTPUT = 0x01,
    CUFFT_XT_FORMAT_INPLACE = 0x02,
    CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 0x03,
    CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 0x04,
    CUFFT_XT_FORMAT_DISTRIBUTED_INPUT = 0x05,
    CUFFT_XT_FORMAT_DISTRIBUTED_OUTPUT = 0x06,
    CUFFT_FORMAT_UNDEFINED = 0x07
} cufftXtSubFormat;

typedef enum cufftXtCopyType_t {
    CUFFT_COPY_HOST_TO_DEVICE = 0x00,
    CUFFT_COPY_DEVICE_TO_HOST = 0x01,
    CUFFT_COPY_DEVICE_TO_DEVICE = 0x02,
    CUFFT_COPY_UNDEFINED = 0x03
} cufftXtCopyType;

cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, cudaDataType in, long long *onembed, long long ostride,
                                long long odist, cudaDataType out, long long batch, size_t *bytes,
                                cudaDataType execution);
cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                               long long idist, cudaDataType in, long long *onembed, long long ostride,
                               long long odist, cudaDataType out, long long batch, size_t *bytes,
                               cudaDataType execution);

/* Between cufftCreate and the plan's sizes; `bytes` then has a place for each GPU. */
cufftResult cufftXtSetGPUs(cufftHandle plan, int count, int *gpus);
cufftResult cufftXtMalloc(cufftHandle plan, cudaLibXtDesc **held, cufftXtSubFormat format);
cufftResult cufftXtMemcpy(cufftHandle plan, void *to, void *from, cufftXtCopyType type);
cufftResult cufftXtFree(cudaLibXtDesc *held);
cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction);

#ifdef __cplusplus
}
#endif

#endif
