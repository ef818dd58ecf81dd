/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * runtime.c - what every call does first and last: counting, injected failures, broken devices,
 * calls that wait for the device; versions, devices and errors
 */
#include "double.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hip hip = {.launching = PTHREAD_MUTEX_INITIALIZER,
                  .lock = PTHREAD_MUTEX_INITIALIZER,
                  .changed = PTHREAD_COND_INITIALIZER};

static const char *const call_names[] = {
#define HIP_FUNCTION(result, name, parameters) #name,
#include "api_defs.h"
};

/* A call of a function, counted from 1, that fails. Under rules_lock. */
struct rule {
    enum hip_call call;
    long n;
    int error;
};
enum { RULES = 64 };
static struct rule rules[RULES];
static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_long calls[HIP_CALLS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local hipError_t last_error;
static _Thread_local int current_device;

void hip_say(const char *format, ...)
{
    char text[512] = "hip double: ";
    size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, sizeof(text) - length - 1, format, args);
    va_end(args);
    fprintf(stderr, "%s\n", text);
}

void hip_die(const char *format, ...)
{
    va_list args;

    fputs("hip double: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
    abort();
}

const char *hip_call_name(enum hip_call call)
{
    return call_names[call];
}

static enum hip_call call_of(const char *name, size_t length)
{
    for (int i = 0; i < HIP_CALLS; i++) {
        if (strncmp(call_names[i], name, length) == 0 && call_names[i][length] == '\0') {
            return (enum hip_call)i;
        }
    }
    return HIP_CALLS;
}

static void rule_add(enum hip_call call, long n, int error)
{
    pthread_mutex_lock(&rules_lock);
    for (int i = 0; i < RULES; i++) {
        if (rules[i].n == 0) {
            rules[i] = (struct rule){call, n, error};
            pthread_mutex_unlock(&rules_lock);
            return;
        }
    }
    hip_die("more than %d calls that fail", RULES);
}

static void rules_read(const char *text)
{
    while (text != NULL && *text != '\0') {
        const char *colon = strchr(text, ':');
        enum hip_call call = colon == NULL ? HIP_CALLS : call_of(text, (size_t)(colon - text));
        long n = 0;
        int error = 0, length = 0;

        if (call == HIP_CALLS || sscanf(colon, ":%ld=%d%n", &n, &error, &length) < 2 || n < 1) {
            hip_die("HIP_DOUBLE_FAIL: cannot read \"%s\"", text);
        }
        rule_add(call, n, error);
        text = colon + length;
        text += *text == ',';
    }
}

/* Of the devices of the machine, the only one that this process sees; -1: it sees all. */
static int only_device = -1;

static void hide_devices(void)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    if (hip_switches.visible == VISIBLE_OWN && hip_switches.devices > 0) {
        only_device = rank != NULL ? atoi(rank) % hip_switches.devices : 0;
        hip_switches.devices = 1;
    }
}

int hip_number_of(int device)
{
    return only_device >= 0 ? only_device : device;
}

bool hip_sees(int number, int domain)
{
    return domain == hip_switches.domain &&
           (only_device >= 0 ? number == only_device
                             : number >= 0 && number < hip_switches.devices);
}

static void start(void)
{
    hip_switches_read();
    hide_devices();
    rules_read(hip_switches.fail);
    for (int d = 0; d < HIP_DEVICES; d++) {
        for (int q = 0; q < HIP_QUEUES; q++) {
            struct hip_queue *queue = &hip.devices[d].queues[q];

            queue->device = d;
            queue->index = q;
            queue->last = &queue->first;
        }
    }
    hip_fault_handler();
}

static int injected(enum hip_call call, long n)
{
    int error = 0;

    pthread_mutex_lock(&rules_lock);
    for (int i = 0; i < RULES && error == 0 && !hip_is_wrong("error-injected"); i++) {
        if (rules[i].n == n && rules[i].call == call) {
            error = rules[i].error;
            rules[i].n = 0;
        }
    }
    pthread_mutex_unlock(&rules_lock);
    return error;
}

/* Calls that have nothing to do with a device. */
static bool needs_device(enum hip_call call)
{
    switch (call) {
    case HIP_CALL_hipInit:
    case HIP_CALL_hipRuntimeGetVersion:
    case HIP_CALL_hipDriverGetVersion:
    case HIP_CALL_hipGetLastError:
    case HIP_CALL_hipPeekAtLastError:
    case HIP_CALL_hipGetErrorName:
    case HIP_CALL_hipGetErrorString:
    case HIP_CALL_hipGetDeviceCount:
    case HIP_CALL_hipGetDevice:
    case HIP_CALL_hipSetDevice:
    case HIP_CALL_hiprtcCreateProgram:
    case HIP_CALL_hiprtcGetProgramLogSize:
    case HIP_CALL_hiprtcGetProgramLog:
    case HIP_CALL_hiprtcGetCodeSize:
    case HIP_CALL_hiprtcGetCode:
    case HIP_CALL_hiprtcDestroyProgram:
        return false;
    default:
        return true;
    }
}

static void refuse_stranger(enum hip_call call)
{
    char name[32] = "";

    if (hip_switches.strangers == NULL) {
        return;
    }
    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strncmp(name, hip_switches.strangers, strlen(hip_switches.strangers)) == 0) {
        hip_die("thread %s calls %s", name, hip_call_name(call));
    }
}

hipError_t hip_enter(enum hip_call call)
{
    long n = atomic_fetch_add(&calls[call], 1) + 1;
    int error;

    pthread_once(&once, start);
    if (hip_in_host_function && !hip_is_wrong("call-no-hip")) {
        hip_die("%s is called by a host function", hip_call_name(call));
    }
    refuse_stranger(call);
    error = injected(call, n);
    if (error == 0 && needs_device(call)) {
        pthread_mutex_lock(&hip.lock);
        error = hip_switches.devices == 0 ? hipErrorNoDevice : hip.devices[current_device].broken;
        error = error != 0 ? error : (int)hip_capture_enter(call);
        pthread_mutex_unlock(&hip.lock);
    }
    return (hipError_t)error;
}

hipError_t hip_leave(hipError_t error)
{
    if (hip_switches.last == LAST_CALL || error != hipSuccess) {
        last_error = error;
    }
    return error;
}

int hip_current(void)
{
    return current_device;
}

/* How many waits would be waited for, under hip.lock. One that has seen what it waits for may not
 * have left its queue yet, and whoever knows that it has need not mind it: it has a moment. */
static int waits_in_the_way(int device)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!hip_is_wrong("sync-forgiven") && hip_waits_pending(device) > 0 &&
           !hip_waits_behind(device) &&
           pthread_cond_timedwait(&hip.changed, &hip.lock, &until) == 0) {
    }
    return hip_waits_pending(device);
}

void hip_synchronizing(enum hip_call call, int device, bool known)
{
    int waits;

    if (hip_switches.sync == SYNC_NONE || (hip_switches.sync == SYNC_KNOWN && !known)) {
        return;
    }
    pthread_mutex_lock(&hip.lock);
    waits = hip_switches.forbid != FORBID_OFF ? waits_in_the_way(device) : 0;
    if (waits > 0) {
        hip.forbidden += !hip_is_wrong("sync-forbidden");
        hip_say("%s waits for device %d, on which %d waits are queued or run", hip_call_name(call),
                device, waits);
        if (hip_switches.forbid == FORBID_ABORT) {
            abort();
        }
    }
    hip_await_device(device);
    pthread_mutex_unlock(&hip.lock);
}

HIP_EXPORT long hip_double_calls(const char *function)
{
    long sum = 0;

    if (function != NULL) {
        enum hip_call call = call_of(function, strlen(function));

        return call == HIP_CALLS ? -1 : atomic_load(&calls[call]);
    }
    for (int i = 0; i < HIP_CALLS; i++) {
        sum += atomic_load(&calls[i]);
    }
    return sum;
}

HIP_EXPORT int hip_double_fail(const char *function, long n, int error)
{
    enum hip_call call = call_of(function, strlen(function));

    if (call == HIP_CALLS || n < 1) {
        return -1;
    }
    rule_add(call, atomic_load(&calls[call]) + n, error);
    return 0;
}

HIP_EXPORT void hip_double_break(int error)
{
    pthread_once(&once, start);
    pthread_mutex_lock(&hip.lock);
    hip.devices[current_device].broken = hip_is_wrong("error-sticky") ? 0 : error;
    pthread_cond_broadcast(&hip.changed);
    pthread_mutex_unlock(&hip.lock);
}

HIP_EXPORT long hip_double_forbidden(void)
{
    long forbidden;

    pthread_mutex_lock(&hip.lock);
    forbidden = hip.forbidden;
    pthread_mutex_unlock(&hip.lock);
    return forbidden;
}

HIP_EXPORT hipError_t hipInit(unsigned flags)
{
    HIP_ENTER(hipInit);
    return hip_leave(flags != 0 ? hipErrorInvalidValue : hipSuccess);
}

static hipError_t version(int *version_p)
{
    if (version_p == NULL) {
        return hipErrorInvalidValue;
    }
    *version_p = hip_switches.version >= 6 ? 60241134 : 50221153;
    return hipSuccess;
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version_p)
{
    HIP_ENTER(hipRuntimeGetVersion);
    return hip_leave(version(version_p));
}

HIP_EXPORT hipError_t hipDriverGetVersion(int *version_p)
{
    HIP_ENTER(hipDriverGetVersion);
    return hip_leave(version(version_p));
}

HIP_EXPORT hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;

    (void)hip_enter(HIP_CALL_hipGetLastError);
    last_error = hipSuccess;
    return error;
}

HIP_EXPORT hipError_t hipPeekAtLastError(void)
{
    (void)hip_enter(HIP_CALL_hipPeekAtLastError);
    return last_error;
}

HIP_EXPORT const char *hipGetErrorName(hipError_t error)
{
    (void)hip_enter(HIP_CALL_hipGetErrorName);
    switch (error) {
#define HIP_ERROR(name, number)                                                                    \
    case name:                                                                                     \
        return #name;
#include "api_defs.h"
    default:
        return "unknown error";
    }
}

HIP_EXPORT const char *hipGetErrorString(hipError_t error)
{
    (void)hip_enter(HIP_CALL_hipGetErrorString);
    return hipGetErrorName(error);
}

HIP_EXPORT hipError_t hipGetDeviceCount(int *count)
{
    HIP_ENTER(hipGetDeviceCount);
    if (count == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    *count = hip_switches.devices;
    return hip_leave(hip_switches.devices == 0 ? hipErrorNoDevice : hipSuccess);
}

HIP_EXPORT hipError_t hipGetDevice(int *device)
{
    HIP_ENTER(hipGetDevice);
    if (device == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    *device = current_device;
    return hip_leave(hip_switches.devices == 0 ? hipErrorNoDevice : hipSuccess);
}

HIP_EXPORT hipError_t hipSetDevice(int device)
{
    HIP_ENTER(hipSetDevice);
    if (device < 0 || device >= hip_switches.devices) {
        return hip_leave(hipErrorInvalidDevice);
    }
    current_device = device;
    return hip_leave(hipSuccess);
}

/* How a host waits, of which one way can be chosen. Here it does not matter. */
HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags)
{
    unsigned waits = flags & hipDeviceScheduleMask;

    HIP_ENTER(hipSetDeviceFlags);
    if ((flags &
         ~(unsigned)(hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax)) != 0 ||
        ((waits & (waits - 1)) != 0 && !hip_is_wrong("device-flags"))) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(hipSuccess);
}

static bool is_device(int device)
{
    return device >= 0 && device < hip_switches.devices;
}

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    HIP_ENTER(hipDeviceGet);
    if (device == NULL || !is_device(ordinal)) {
        return hip_leave(device == NULL ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    *device = ordinal;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device)
{
    HIP_ENTER(hipDeviceGetName);
    if (name == NULL || length <= 0 || !is_device(device)) {
        return hip_leave(is_device(device) ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    snprintf(name, (size_t)length, "double of a HIP device");
    return hip_leave(hipSuccess);
}

/* The name of the device is like that of a kind, so that nobody takes it for one. */
HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
    HIP_ENTER(hipGetDeviceProperties);
    if (properties == NULL || !is_device(device)) {
        return hip_leave(is_device(device) ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "gfx of the double");
    properties->totalGlobalMem = (size_t)hip_switches.memory_mb << 20;
    snprintf(properties->gcnArchName, sizeof(properties->gcnArchName), "%s:xnack-", hip_arch());
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char *id, int length, int device)
{
    HIP_ENTER(hipDeviceGetPCIBusId);
    if (id == NULL || length < 13 || !is_device(device)) {
        return hip_leave(is_device(device) ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    snprintf(id, (size_t)length, "%04x:%02x:00.0", (unsigned)hip_switches.domain,
             (unsigned)(0xd0 + hip_number_of(device)) & 0xff);
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t which, int device)
{
    HIP_ENTER(hipDeviceGetAttribute);
    if (value == NULL || !is_device(device)) {
        return hip_leave(value == NULL ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    switch (which) {
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeStreamPrioritiesSupported:
        *value = 1;
        break;
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
        *value = hip_switches.host == HOST_SAME;
        break;
    case hipDeviceAttributeMultiprocessorCount:
        *value = 104;
        break;
    case hipDeviceAttributeWarpSize:
        *value = 64;
        break;
    case hipDeviceAttributeIsLargeBar:
        *value = hip_switches.access == ACCESS_BAR;
        break;
    case hipDeviceAttributeCanUseStreamWaitValue:
        *value = hip_switches.wait_value == SWITCH_YES;
        break;
    case hipDeviceAttributeGPUDirectRDMAWritesOrdering:
        *value = 100 * (hip_switches.ordering - ORDERING_NONE);
        break;
    default:
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(hipSuccess);
}

/* Only for the host: what a kernel sees is another matter, and not changed by it. */
HIP_EXPORT hipError_t hipDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    HIP_ENTER(hipDeviceFlushGPUDirectRDMAWrites);
    return hip_leave(target != 0 || (scope != 100 && scope != 200) ? hipErrorInvalidValue
                                                                   : hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    HIP_ENTER(hipDeviceCanAccessPeer);
    if (can == NULL || !is_device(device) || !is_device(peer)) {
        return hip_leave(can == NULL ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    *can = device != peer && hip_switches.peer == SWITCH_YES;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int device,
                                               int peer)
{
    HIP_ENTER(hipDeviceGetP2PAttribute);
    if (value == NULL || !is_device(device) || !is_device(peer) || device == peer) {
        return hip_leave(value == NULL ? hipErrorInvalidValue : hipErrorInvalidDevice);
    }
    *value = hip_switches.peer == SWITCH_YES && attribute != hipDevP2PAttrPerformanceRank &&
             attribute != hipDevP2PAttrHipArrayAccessSupported;
    return hip_leave(hipSuccess);
}

static hipError_t set_peer(enum hip_call call, int peer, bool access)
{
    hipError_t error = hipSuccess;

    if (!is_device(peer) || peer == current_device || hip_switches.peer != SWITCH_YES) {
        return hipErrorInvalidDevice;
    }
    hip_synchronizing(call, current_device, false);
    pthread_mutex_lock(&hip.lock);
    if (hip.devices[current_device].peer[peer] == access) {
        error = access ? hipErrorPeerAccessAlreadyEnabled : hipErrorPeerAccessNotEnabled;
    }
    hip.devices[current_device].peer[peer] = access;
    pthread_mutex_unlock(&hip.lock);
    return error;
}

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    HIP_ENTER(hipDeviceEnablePeerAccess);
    if (flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(set_peer(HIP_CALL_hipDeviceEnablePeerAccess, peer, true));
}

HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer)
{
    HIP_ENTER(hipDeviceDisablePeerAccess);
    return hip_leave(set_peer(HIP_CALL_hipDeviceDisablePeerAccess, peer, false));
}
