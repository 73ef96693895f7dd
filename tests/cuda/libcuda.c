/* A stand-in for NVIDIA's libcuda.so.1 that answers from a scenario file instead of a driver.

   The file's name is in CUDA_SCENARIO; each line is one of
     version 13000             cuDriverGetVersion: major * 1000 + minor * 10
     init 802                  cuInit returns this CUresult
     fail FUNCTION CODE        that function returns CODE
     hang FUNCTION             that function never returns
     crash FUNCTION            that function dereferences a null pointer
     gpu name=NVIDIA H100 80GB HBM3 capability=9.0 memory=85899345920 pci=0000:3B:00.0 units=132     (one line)
   FUNCTION bears no version suffix. CUDA_VISIBLE_DEVICES is read once, by cuInit, as the driver reads it: numbers up
   to the first one that names no GPU.

   The CUDA runtime asks for every function by cuGetProcAddress; one that is not here answers
   CUDA_ERROR_NOT_SUPPORTED. It asks for private tables, too, by which it makes sure that the driver is NVIDIA's. Those
   are not imitated: where cuInit succeeds, torch says "Error 801: operation not supported". Errors reach torch as they are.

   Signatures and codes follow NVIDIA's cuda.h. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_SUPPORTED = 801 };
/* CUdevice_attribute */
enum { MULTIPROCESSORS = 16, PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50, MAJOR = 75, MINOR = 76 };

#define LINE 1024
#define MOST 64

static struct { char verb[16], function[64]; int code; } orders[MOST];
static char gpus[MOST][LINE];
static unsigned order_count, gpu_count, visible[MOST], visible_count;
static int version = 13000, loaded, initialised;

static void load(void) {
    char line[LINE];
    const char *path = getenv("CUDA_SCENARIO");
    FILE *file = path ? fopen(path, "r") : NULL;
    loaded = 1;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (sscanf(line, "version %d", &version) == 1) continue;
        if (!strncmp(line, "gpu", 3) && gpu_count < MOST) {
            snprintf(gpus[gpu_count++], LINE, "%s ", line + 3);
            continue;
        }
        if (order_count == MOST) continue;
        if (sscanf(line, "init %d", &orders[order_count].code) == 1) {
            strcpy(orders[order_count].verb, "fail");
            strcpy(orders[order_count++].function, "cuInit");
        } else if (sscanf(line, "%15s %63s %d", orders[order_count].verb, orders[order_count].function,
                          &orders[order_count].code) >= 2) {
            order_count++;
        }
    }
    if (file) fclose(file);
}

/* What every function does first: what the scenario orders for it. `name` is compared without its version. */
static int enter(const char *function) {
    char name[64];
    if (!loaded) load();
    snprintf(name, sizeof name, "%s", function);
    char *suffix = strstr(name, "_v");
    if (suffix) *suffix = 0;
    for (unsigned i = 0; i < order_count; i++) {
        if (strcmp(orders[i].function, name)) continue;
        if (!strcmp(orders[i].verb, "hang")) for (;;) pause();
        if (!strcmp(orders[i].verb, "crash")) *(volatile int *)0 = 0;
        if (!strcmp(orders[i].verb, "fail")) return orders[i].code;
    }
    return SUCCESS;
}

#define ENTER() do { int code_ = enter(__func__); if (code_) return code_; if (!initialised) return NOT_INITIALIZED; } while (0)
#define ENTER_DEVICE(device) do { ENTER(); if ((unsigned)(device) >= visible_count) return INVALID_DEVICE; } while (0)

/* The value of a key of a gpu line; it ends where the next " key=" begins. */
static int value(int device, const char *key, char *out, size_t size) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *start = strstr(gpus[visible[device]], wanted);
    if (!start) return 0;
    start += strlen(wanted);
    const char *stop = start;
    for (; *stop; stop++) {
        if (*stop != ' ') continue;
        size_t word = strcspn(stop + 1, " =");
        if (!stop[1] || stop[1 + word] == '=') break;
    }
    snprintf(out, size, "%.*s", (int)(stop - start), start);
    return 1;
}

static long long number(int device, const char *key, long long otherwise) {
    char text[64];
    return value(device, key, text, sizeof text) ? strtoll(text, NULL, 10) : otherwise;
}

int cuInit(unsigned flags) {
    (void)flags;
    int code = enter(__func__);
    if (code) return code;
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    if (!chosen) while (visible_count < gpu_count) visible[visible_count] = visible_count, visible_count++;
    for (char *end; chosen && *chosen && visible_count < gpu_count; chosen = *end == ',' ? end + 1 : end) {
        long index = strtol(chosen, &end, 10);
        if (end == chosen || index < 0 || index >= (long)gpu_count) break;
        visible[visible_count++] = (unsigned)index;
    }
    if (!visible_count) return NO_DEVICE;
    initialised = 1;
    return SUCCESS;
}

int cuDriverGetVersion(int *out) { int code = enter(__func__); *out = version; return code; }
int cuDeviceGetCount(int *out) { ENTER(); *out = (int)visible_count; return SUCCESS; }
int cuDeviceGet(int *out, int ordinal) { ENTER_DEVICE(ordinal); *out = ordinal; return SUCCESS; }

int cuDeviceGetName(char *out, int size, int device) {
    ENTER_DEVICE(device);
    return value(device, "name", out, (size_t)size) ? SUCCESS : NOT_SUPPORTED;
}

int cuDeviceTotalMem_v2(size_t *out, int device) {
    ENTER_DEVICE(device);
    *out = (size_t)number(device, "memory", 0);
    return SUCCESS;
}

int cuDeviceGetPCIBusId(char *out, int size, int device) {
    ENTER_DEVICE(device);
    return value(device, "pci", out, (size_t)size) ? SUCCESS : NOT_SUPPORTED;
}

int cuDeviceGetUuid_v2(char *out, int device) {
    ENTER_DEVICE(device);
    memset(out, device, 16);
    return SUCCESS;
}
int cuDeviceGetUuid(char *out, int device) { return cuDeviceGetUuid_v2(out, device); }

int cuDeviceGetAttribute(int *out, int attribute, int device) {
    char text[64] = "";
    int major = 8, minor = 0;
    unsigned domain = 0, bus = 0, slot = 0;
    ENTER_DEVICE(device);
    if (value(device, "capability", text, sizeof text)) sscanf(text, "%d.%d", &major, &minor);
    if (value(device, "pci", text, sizeof text)) sscanf(text, "%x:%x:%x", &domain, &bus, &slot);
    *out = attribute == MAJOR ? major : attribute == MINOR ? minor
         : attribute == MULTIPROCESSORS ? (int)number(device, "units", 108)
         : attribute == PCI_BUS ? (int)bus : attribute == PCI_DEVICE ? (int)slot
         : attribute == PCI_DOMAIN ? (int)domain : 1;
    return SUCCESS;
}

int cuModuleGetLoadingMode(int *out) { *out = 2; return SUCCESS; } /* CU_MODULE_LAZY_LOADING */
int cuGetErrorName(int code, const char **out) { *out = code ? "CUDA_ERROR" : "CUDA_SUCCESS"; return SUCCESS; }
int cuGetErrorString(int code, const char **out) { *out = code ? "an error" : "no error"; return SUCCESS; }

static int unsupported(void) { return NOT_SUPPORTED; }
int cuGetExportTable(const void **out, const void *id) { (void)id; *out = NULL; return NOT_SUPPORTED; }

int cuGetProcAddress_v2(const char *symbol, void **out, int wanted, unsigned long long flags, int *status) {
    static const char *const suffixes[] = { "_v2", "" };
    char name[128];
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    (void)wanted, (void)flags;
    if (status) *status = 0;
    *out = NULL;
    for (unsigned i = 0; self && i < 2 && !*out; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
        *out = dlsym(self, name);
    }
    if (!*out) *out = (void *)unsupported;
    return SUCCESS;
}
int cuGetProcAddress(const char *symbol, void **out, int wanted, unsigned long long flags) {
    return cuGetProcAddress_v2(symbol, out, wanted, flags, NULL);
}
