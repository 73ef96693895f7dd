/* A stand-in for NVIDIA's libnvidia-ml.so.1 that answers from a scenario file instead of a driver.

   The file's name is in NVML_SCENARIO; each line is one of
     driver 580.82.07          nvmlSystemGetDriverVersion
     cuda 13000                nvmlSystemGetCudaDriverVersion_v2: major * 1000 + minor * 10
     init 18                   nvmlInit returns this nvmlReturn_t
     fail FUNCTION CODE        that function returns CODE
     hang FUNCTION             that function never returns
     crash FUNCTION            that function dereferences a null pointer
     gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-... capability=9.0 memory=85899345920 used=1 pci=00000000:3B:00.0
         width=16/16 gen=4/5 nvlinks=18 links=18 mig=0 mode=0 temp=40 lost=0     (one line)
   FUNCTION may carry a version suffix or none; nvmlInit stands for each of its forms.
   A key that a gpu line lacks is something that this GPU has not: NVML_ERROR_NOT_SUPPORTED. `nvlinks` counts the
   active links of `links` (18). `mig` counts the instances of a GPU in MIG mode; 0 is MIG mode off. `lost=1` is a GPU
   that has no handle any more, `lost=2` one that was lost after its handle was given: all else fails with 15.

   Signatures, codes and buffer sizes follow NVIDIA's nvml.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15, UNKNOWN = 999 };

#define LINE 1024
#define MOST 64
#define MIG_MOST 7

typedef struct {
    char line[LINE];      /* the text after "gpu" */
    char mig_uuid[128];   /* of a MIG instance, which shares its parent's line */
} device;

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_info;
typedef struct { unsigned long long total, free, used; } memory_info;

static struct { char verb[16], function[64]; int code; } orders[MOST];
static device gpus[MOST], instances[MOST][MIG_MOST];
static unsigned order_count, gpu_count;
static char driver[80] = "580.82.07";
static int cuda = 13000, loaded, initialised;

/* nvmlInit_v2 and nvmlInitWithFlags are nvmlInit. */
static void base_name(const char *name, char *out) {
    snprintf(out, 64, "%s", strncmp(name, "nvmlInit", 8) ? name : "nvmlInit");
    char *suffix = strrchr(out, '_');
    if (suffix && suffix[1] == 'v') *suffix = 0;
}

static void load(void) {
    char line[LINE], name[64];
    const char *path = getenv("NVML_SCENARIO");
    FILE *file = path ? fopen(path, "r") : NULL;
    loaded = 1;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (sscanf(line, "driver %79s", driver) == 1 || sscanf(line, "cuda %d", &cuda) == 1) continue;
        if (!strncmp(line, "gpu", 3) && gpu_count < MOST) {
            snprintf(gpus[gpu_count++].line, LINE, "%s ", line + 3);
            continue;
        }
        if (order_count == MOST) continue;
        if (sscanf(line, "init %d", &orders[order_count].code) == 1) {
            strcpy(orders[order_count].verb, "fail");
            strcpy(orders[order_count++].function, "nvmlInit");
        } else if (sscanf(line, "%15s %63s %d", orders[order_count].verb, name, &orders[order_count].code) >= 2) {
            base_name(name, orders[order_count++].function);
        }
    }
    if (file) fclose(file);
}

/* What every function does first: what the scenario orders for it. */
static int enter(const char *function) {
    char name[64];
    if (!loaded) load();
    base_name(function, name);
    for (unsigned i = 0; i < order_count; i++) {
        if (strcmp(orders[i].function, name)) continue;
        if (!strcmp(orders[i].verb, "hang")) for (;;) pause();
        if (!strcmp(orders[i].verb, "crash")) *(volatile int *)0 = 0;
        if (!strcmp(orders[i].verb, "fail")) return orders[i].code;
    }
    return initialised || !strcmp(name, "nvmlInit") ? SUCCESS : UNINITIALIZED;
}

/* The value of a key of a gpu line; it ends where the next " key=" begins. */
static int value(const device *gpu, const char *key, char *out, size_t size) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *start = strstr(gpu->line, wanted);
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

static long long number(const device *gpu, const char *key, long long otherwise) {
    char text[64];
    return value(gpu, key, text, sizeof text) ? strtoll(text, NULL, 10) : otherwise;
}

static int enter_device(const char *function, const device *gpu) {
    int code = enter(function);
    if (code) return code;
    if (!gpu) return INVALID_ARGUMENT;
    return number(gpu, "lost", 0) ? GPU_IS_LOST : SUCCESS;
}

static int give_number(const device *gpu, const char *key, unsigned *out) {
    long long found = number(gpu, key, -1);
    if (found < 0) return NOT_SUPPORTED;
    *out = (unsigned)found;
    return SUCCESS;
}

/* width=8/16: the lanes now, and those that are possible. */
static int give_pair(const device *gpu, const char *key, int second, unsigned *out) {
    char text[32];
    unsigned pair[2];
    if (!value(gpu, key, text, sizeof text) || sscanf(text, "%u/%u", &pair[0], &pair[1]) != 2) return NOT_SUPPORTED;
    *out = pair[second];
    return SUCCESS;
}

static int give_text(const char *text, char *out, unsigned size) {
    return (unsigned)snprintf(out, size, "%s", text) < size ? SUCCESS : INSUFFICIENT_SIZE;
}

#define ENTER() do { int code_ = enter(__func__); if (code_) return code_; } while (0)
#define ENTER_DEVICE(gpu) do { int code_ = enter_device(__func__, gpu); if (code_) return code_; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; ENTER(); initialised = 1; return SUCCESS; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { ENTER(); initialised = 0; return SUCCESS; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case NOT_SUPPORTED: return "Not Supported";
    case 9: return "Driver Not Loaded";
    case GPU_IS_LOST: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *out, unsigned size) { ENTER(); return give_text(driver, out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { ENTER(); *out = cuda; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }
int nvmlDeviceGetCount_v2(unsigned *out) { ENTER(); *out = gpu_count; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **out) {
    ENTER();
    if (index >= gpu_count) return INVALID_ARGUMENT;
    if (number(&gpus[index], "lost", 0) == 1) return GPU_IS_LOST;
    *out = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetName(device *gpu, char *out, unsigned size) {
    char text[128];
    ENTER_DEVICE(gpu);
    return value(gpu, "name", text, sizeof text) ? give_text(text, out, size) : NOT_SUPPORTED;
}

int nvmlDeviceGetUUID(device *gpu, char *out, unsigned size) {
    char text[128];
    ENTER_DEVICE(gpu);
    if (gpu->mig_uuid[0]) return give_text(gpu->mig_uuid, out, size);
    return value(gpu, "uuid", text, sizeof text) ? give_text(text, out, size) : NOT_SUPPORTED;
}

int nvmlDeviceGetCudaComputeCapability(device *gpu, int *major, int *minor) {
    char text[32];
    ENTER_DEVICE(gpu);
    if (!value(gpu, "capability", text, sizeof text)) return NOT_SUPPORTED;
    return sscanf(text, "%d.%d", major, minor) == 2 ? SUCCESS : UNKNOWN;
}

int nvmlDeviceGetMemoryInfo(device *gpu, memory_info *out) {
    ENTER_DEVICE(gpu);
    long long total = number(gpu, "memory", -1), used = number(gpu, "used", 0);
    if (total < 0) return NOT_SUPPORTED;
    out->total = total, out->used = used, out->free = total - used;
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(device *gpu, pci_info *out) {
    ENTER_DEVICE(gpu);
    memset(out, 0, sizeof *out);
    if (!value(gpu, "pci", out->bus_id, sizeof out->bus_id)) return NOT_SUPPORTED;
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    return SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkWidth(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_pair(gpu, "width", 0, out); }
int nvmlDeviceGetMaxPcieLinkWidth(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_pair(gpu, "width", 1, out); }
int nvmlDeviceGetCurrPcieLinkGeneration(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_pair(gpu, "gen", 0, out); }
int nvmlDeviceGetMaxPcieLinkGeneration(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_pair(gpu, "gen", 1, out); }
int nvmlDeviceGetComputeMode(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_number(gpu, "mode", out); }

int nvmlDeviceGetTemperature(device *gpu, unsigned sensor, unsigned *out) {
    ENTER_DEVICE(gpu);
    return sensor ? INVALID_ARGUMENT : give_number(gpu, "temp", out);
}

int nvmlDeviceGetNvLinkState(device *gpu, unsigned link, unsigned *out) {
    ENTER_DEVICE(gpu);
    long long active = number(gpu, "nvlinks", -1);
    if (active < 0) return NOT_SUPPORTED;
    if (link >= number(gpu, "links", 18)) return INVALID_ARGUMENT;
    *out = link < active;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(device *gpu, unsigned *current, unsigned *pending) {
    ENTER_DEVICE(gpu);
    long long count = number(gpu, "mig", -1);
    if (count < 0) return NOT_SUPPORTED;
    *current = *pending = count > 0;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(device *gpu, unsigned *out) {
    ENTER_DEVICE(gpu);
    *out = number(gpu, "mig", -1) < 0 ? 0 : MIG_MOST;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device *gpu, unsigned index, device **out) {
    char text[100];
    ENTER_DEVICE(gpu);
    if (index >= MIG_MOST) return INVALID_ARGUMENT;
    if (index >= number(gpu, "mig", 0)) return NOT_FOUND;
    device *instance = &instances[gpu - gpus][index];
    *instance = *gpu;
    if (!value(gpu, "uuid", text, sizeof text)) return NOT_SUPPORTED;
    snprintf(instance->mig_uuid, sizeof instance->mig_uuid, "MIG-%s-%u", text, index);
    *out = instance;
    return SUCCESS;
}
