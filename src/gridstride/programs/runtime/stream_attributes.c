/* Attributes of streams: kept and told. Caches are the chip's own, so none changes how a kernel runs. */
#include "streams.h"

static StreamAttributes of_default[GS_MOST_DEVICES][2]; /* the legacy one, and that of each thread as one */

static StreamAttributes *attributes(cudaStream_t stream) {
    StreamAttributes *found = gs_is_default(stream) ? &of_default[gs_current()][stream == cudaStreamPerThread]
                                                    : &stream->attributes;
    if (!found->is_set) { /* what a stream begins with */
        found->is_set = 1;
        found->policy = cudaSyncPolicyAuto;
        found->domains.remote = 1;
    }
    return found;
}

static int is_window(const struct cudaAccessPolicyWindow *window) {
    return window->hitRatio >= 0 && window->hitRatio <= 1 && window->hitProp >= cudaAccessPropertyNormal &&
           window->hitProp <= cudaAccessPropertyPersisting && window->missProp >= cudaAccessPropertyNormal &&
           window->missProp <= cudaAccessPropertyStreaming;
}

PUBLIC cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                          const cudaLaunchAttributeValue *value) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(value != NULL, cudaErrorInvalidValue);
    StreamAttributes *kept = attributes(stream);
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
        CHECK(is_window(&value->accessPolicyWindow), cudaErrorInvalidValue);
        kept->window = value->accessPolicyWindow;
        return cudaSuccess;
    case cudaLaunchAttributeSynchronizationPolicy:
        CHECK(value->syncPolicy >= cudaSyncPolicyAuto && value->syncPolicy <= cudaSyncPolicyBlockingSync,
              cudaErrorInvalidValue);
        kept->policy = value->syncPolicy;
        return cudaSuccess;
    case cudaLaunchAttributePriority:
        CHECK(!gs_is_default(stream), cudaErrorInvalidValue);
        stream->priority = value->priority > 0 ? 0 : value->priority < -5 ? -5 : value->priority;
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomainMap:
        kept->domains = value->memSyncDomainMap;
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomain:
        CHECK(value->memSyncDomain <= cudaLaunchMemSyncDomainRemote, cudaErrorInvalidValue);
        kept->domain = value->memSyncDomain;
        return cudaSuccess;
    default:
        return gs_error(cudaErrorInvalidValue);
    }
}

PUBLIC cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                          cudaLaunchAttributeValue *value) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(value != NULL, cudaErrorInvalidValue);
    const StreamAttributes *kept = attributes(stream);
    memset(value, 0, sizeof *value);
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: value->accessPolicyWindow = kept->window; break;
    case cudaLaunchAttributeSynchronizationPolicy: value->syncPolicy = kept->policy; break;
    case cudaLaunchAttributePriority: value->priority = gs_is_default(stream) ? 0 : stream->priority; break;
    case cudaLaunchAttributeMemSyncDomainMap: value->memSyncDomainMap = kept->domains; break;
    case cudaLaunchAttributeMemSyncDomain: value->memSyncDomain = kept->domain; break;
    default: return gs_error(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    ENTER();
    CHECK(gs_is_stream(to) && gs_is_stream(from), gs_no_stream(to));
    *attributes(to) = *attributes(from);
    return cudaSuccess;
}
