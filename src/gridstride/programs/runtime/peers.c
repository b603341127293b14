/* Several GPUs: which one is a thread's, and which may use whose memory. */
#include "runtime.h"

static _Thread_local int current;
static char enabled[GS_MOST_DEVICES][GS_MOST_DEVICES]; /* by the GPU that uses it, then by the one whose memory it is */

int gs_current(void) { return current; }
void gs_make_current(int device) { current = device; }
int gs_is_device(int device) { return device >= 0 && device < gs_board.devices; }

PUBLIC cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    ENTER();
    CHECK(can != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device) && gs_is_device(peer), cudaErrorInvalidDevice);
    *can = gs_board.peers && device != peer;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer) {
    ENTER();
    CHECK(value != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device) && gs_is_device(peer) && device != peer, cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported:
    case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = (int)gs_board.peers;
        return cudaSuccess;
    case cudaDevP2PAttrPerformanceRank: /* all links are alike */
    case 5:                             /* only a part of the atomics, of CUDA 13.1: all of them or none here */
        *value = 0;
        return cudaSuccess;
    default:
        return gs_error(cudaErrorInvalidValue);
    }
}

static void set(int device, int peer, int access) {
    enabled[device][peer] = access;
    gs_board.peer_access(device, peer, access);
}

PUBLIC cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    ENTER();
    CHECK(flags == 0, cudaErrorInvalidValue);
    CHECK(gs_is_device(peer) && peer != current, cudaErrorInvalidDevice);
    CHECK(gs_board.peers, cudaErrorPeerAccessUnsupported);
    CHECK(!enabled[current][peer], cudaErrorPeerAccessAlreadyEnabled);
    set(current, peer, 1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    ENTER();
    CHECK(gs_is_device(peer), cudaErrorInvalidDevice);
    CHECK(enabled[current][peer], cudaErrorPeerAccessNotEnabled);
    set(current, peer, 0);
    return cudaSuccess;
}

/* What a GPU that is reset was allowed to use, and who was allowed to use its memory. */
void gs_forget_peers(int device) {
    for (int other = 0; other < gs_board.devices; other++) {
        if (enabled[device][other])
            set(device, other, 0);
        if (enabled[other][device])
            set(other, device, 0);
    }
}
