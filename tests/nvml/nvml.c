/* A stand-in for NVIDIA's libnvidia-ml.so.1 that answers from a scenario file instead of a driver.

   The file's name is in NVML_SCENARIO; each line is one of
     driver 580.82.07          nvmlSystemGetDriverVersion
     cuda 13000                nvmlSystemGetCudaDriverVersion_v2: major * 1000 + minor * 10
     init 18                   nvmlInit returns this nvmlReturn_t
     fail FUNCTION CODE [GPU]  that function returns CODE, for one GPU where its index is named
     hang FUNCTION [GPU]       that function never returns
     crash FUNCTION [GPU]      that function dereferences a null pointer
     delay MS                  each call takes that long
     slow FUNCTION MS          that function does
     confidential ON MODE READY     nvmlSystemGetConfComputeSettings, nvmlSystemGetConfComputeGpusReadyState
     pair A B LEVEL READ NV    topology level of two GPUs (10 ... 50), P2P status for reading and for NVLink
     gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-... capability=9.0 memory=85899345920 used=1 pci=00000000:3B:00.0
         width=16/16 gen=4/5 nvlinks=18 links=18 mig=0 mode=0 temp=40 lost=0     (one line)
   FUNCTION may carry a version suffix or none; nvmlInit stands for each of its forms. The file is read at nvmlInit.
   A key that a gpu line lacks is something that this GPU has not: NVML_ERROR_NOT_SUPPORTED. `nvlinks` counts the
   active links of `links` (18). `mig` counts the instances of a GPU in MIG mode; 0 is MIG mode off. `lost=1` is a GPU
   that has no handle any more, `lost=2` one that was lost after its handle was given: all else fails with 15.
   More keys: reserved replays persistence margin slowdown memtemp memmost recovery reset drain reasons util power limit default
   most (mW) clock maxclock appclock defclock ecc=1/1 corrected uncorrected ever dram sram sram_ever threshold
   rows=0/0/0/0 banks=640/0/0/0/0 retired=0/0 retired_pending unrepairable inforom=14 (its code) vbios part gsp
   fabric=STATE/STATUS health=MASK clique=ID processes=PID:BYTES,... remote=0000:05:00.0 link_errors=0/0/0

   Signatures, codes and buffer sizes follow NVIDIA's nvml.h. */

#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15, UNKNOWN = 999 };

#define LINE 2048
#define MOST 64
#define MIG_MOST 7

typedef struct {
    char line[LINE];      /* the text after "gpu" */
    char mig_uuid[128];   /* of a MIG instance, which shares its parent's line */
} device;

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_info;
typedef struct { unsigned long long total, free, used; } memory_info;

typedef struct { unsigned version; int margin; } margin_info;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_info_v2;
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned version; unsigned long long counts[11]; unsigned exceeded; } sram_status;
typedef struct { unsigned version, flag; } unrepairable_memory;
typedef struct { unsigned version, environment, feature, tools, several; } confidential_settings;

static struct { char verb[16], function[64]; int code, gpu; } orders[MOST];
static struct { unsigned a, b, level; int read, nvlink; } pairs[256];
static device gpus[MOST], instances[MOST][MIG_MOST];
static unsigned order_count, gpu_count;
static char driver[80];
static int cuda, loaded, initialised, delay, confidential, confidential_mode, confidential_ready;
static unsigned pair_count;

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
    loaded = 1, order_count = gpu_count = pair_count = 0;
    cuda = 13000, delay = confidential = confidential_mode = 0, confidential_ready = 1;
    strcpy(driver, "580.82.07");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (sscanf(line, "driver %79s", driver) == 1 || sscanf(line, "cuda %d", &cuda) == 1) continue;
        if (!strncmp(line, "gpu", 3) && gpu_count < MOST) {
            snprintf(gpus[gpu_count++].line, LINE, "%s ", line + 3);
            continue;
        }
        if (sscanf(line, "delay %d", &delay) == 1) continue;
        if (sscanf(line, "confidential %d %d %d", &confidential, &confidential_mode, &confidential_ready) >= 1) continue;
        if (pair_count < 256 && sscanf(line, "pair %u %u %u %d %d", &pairs[pair_count].a, &pairs[pair_count].b,
                &pairs[pair_count].level, &pairs[pair_count].read, &pairs[pair_count].nvlink) == 5) {
            pair_count++;
            continue;
        }
        if (order_count == MOST) continue;
        orders[order_count].code = orders[order_count].gpu = -1;
        if (sscanf(line, "init %d", &orders[order_count].code) == 1) {
            strcpy(orders[order_count].verb, "fail");
            strcpy(orders[order_count++].function, "nvmlInit");
        } else if (sscanf(line, "%15s %63s %d %d", orders[order_count].verb, name, &orders[order_count].code,
                          &orders[order_count].gpu) >= 2) {
            if (strcmp(orders[order_count].verb, "fail") && strcmp(orders[order_count].verb, "slow")) orders[order_count].gpu = orders[order_count].code;
            base_name(name, orders[order_count++].function);
        }
    }
    if (file) fclose(file);
}

/* What every function does first: what the scenario orders for it. */
static int enter_for(const char *function, int gpu) {
    char name[64];
    base_name(function, name);
    if (!loaded || !strcmp(name, "nvmlInit")) load();
    usleep((useconds_t)delay * 1000);
    for (unsigned i = 0; i < order_count; i++) {
        if (strcmp(orders[i].function, name) || (orders[i].gpu >= 0 && orders[i].gpu != gpu)) continue;
        if (!strcmp(orders[i].verb, "slow")) usleep((useconds_t)orders[i].code * 1000);
        if (!strcmp(orders[i].verb, "hang")) for (;;) pause();
        if (!strcmp(orders[i].verb, "crash")) *(volatile int *)0 = 0;
        if (!strcmp(orders[i].verb, "fail")) return orders[i].code;
    }
    return initialised || !strcmp(name, "nvmlInit") ? SUCCESS : UNINITIALIZED;
}

static int enter(const char *function) { return enter_for(function, -1); }

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
    return value(gpu, key, text, sizeof text) ? strtoll(text, NULL, 0) : otherwise;
}

static int enter_device(const char *function, const device *gpu) {
    int index = gpu >= gpus && gpu < gpus + MOST ? (int)(gpu - gpus) : -1;
    int code = enter_for(function, index);
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
    int code = enter_for(__func__, (int)index);
    if (code) return code;
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

/* rows=0/1/0/0: the n-th of several numbers; -1 where the key is absent. */
static long long part(const device *gpu, const char *key, int n) {
    char text[128], *at = text;
    if (!value(gpu, key, text, sizeof text)) return -1;
    while (n-- && at) if ((at = strchr(at, '/'))) at++;
    return at ? strtoll(at, NULL, 0) : 0;
}

static int give_long(const device *gpu, const char *key, unsigned long long *out) {
    long long found = number(gpu, key, -1);
    if (found < 0) return NOT_SUPPORTED;
    *out = (unsigned long long)found;
    return SUCCESS;
}

#define NUMBER(function, key) \
    int nvmlDeviceGet##function(device *gpu, unsigned *out) { ENTER_DEVICE(gpu); return give_number(gpu, key, out); }
NUMBER(PcieReplayCounter, "replays")
NUMBER(PersistenceMode, "persistence")
NUMBER(PowerUsage, "power")
NUMBER(EnforcedPowerLimit, "limit")
NUMBER(PowerManagementDefaultLimit, "default")
NUMBER(RetiredPagesPendingStatus, "retired_pending")

#define TEXT(function, key) \
    int nvmlDeviceGet##function(device *gpu, char *out, unsigned size) { \
        char text[128]; \
        ENTER_DEVICE(gpu); \
        return value(gpu, key, text, sizeof text) ? give_text(text, out, size) : NOT_SUPPORTED; \
    }
TEXT(VbiosVersion, "vbios")
TEXT(BoardPartNumber, "part")

#define CLOCK(function, key) \
    int nvmlDeviceGet##function(device *gpu, unsigned type, unsigned *out) { \
        ENTER_DEVICE(gpu); \
        return type == 1 ? give_number(gpu, key, out) : NOT_SUPPORTED; \
    }
CLOCK(ClockInfo, "clock")
CLOCK(MaxClockInfo, "maxclock")
CLOCK(ApplicationsClock, "appclock")
CLOCK(DefaultApplicationsClock, "defclock")

int nvmlDeviceGetCurrentClocksEventReasons(device *gpu, unsigned long long *out) { ENTER_DEVICE(gpu); return give_long(gpu, "reasons", out); }
int nvmlDeviceGetCurrentClocksThrottleReasons(device *gpu, unsigned long long *out) { ENTER_DEVICE(gpu); return give_long(gpu, "reasons", out); }

int nvmlDeviceGetTemperatureThreshold(device *gpu, unsigned kind, unsigned *out) {
    ENTER_DEVICE(gpu);
    return kind == 1 ? give_number(gpu, "slowdown", out) : kind == 2 ? give_number(gpu, "memmost", out) : NOT_SUPPORTED;
}

int nvmlDeviceGetMarginTemperature(device *gpu, margin_info *out) {
    ENTER_DEVICE(gpu);
    char text[32];
    if (!value(gpu, "margin", text, sizeof text)) return NOT_SUPPORTED;
    out->margin = atoi(text);
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(device *gpu, memory_info_v2 *out) {
    ENTER_DEVICE(gpu);
    long long total = number(gpu, "memory", -1), used = number(gpu, "used", 0), reserved = number(gpu, "reserved", -1);
    if (total < 0 || reserved < 0) return NOT_SUPPORTED;
    out->total = total, out->reserved = reserved, out->used = used - reserved, out->free = total - used;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(device *gpu, utilization *out) {
    ENTER_DEVICE(gpu);
    out->memory = 0;
    return give_number(gpu, "util", &out->gpu);
}

int nvmlDeviceGetPowerManagementLimitConstraints(device *gpu, unsigned *least, unsigned *most) {
    ENTER_DEVICE(gpu);
    *least = 0;
    return give_number(gpu, "most", most);
}

int nvmlDeviceGetEccMode(device *gpu, unsigned *current, unsigned *pending) {
    ENTER_DEVICE(gpu);
    if (give_pair(gpu, "ecc", 0, current)) return NOT_SUPPORTED;
    return give_pair(gpu, "ecc", 1, pending);
}

int nvmlDeviceGetTotalEccErrors(device *gpu, unsigned type, unsigned counter, unsigned long long *out) {
    ENTER_DEVICE(gpu);
    return give_long(gpu, !type ? "corrected" : counter ? "ever" : "uncorrected", out);
}

int nvmlDeviceGetMemoryErrorCounter(device *gpu, unsigned type, unsigned counter, unsigned location, unsigned long long *out) {
    ENTER_DEVICE(gpu);
    if (type != 1 || (location != 2 && location != 7)) return NOT_SUPPORTED;
    return give_long(gpu, location == 2 ? "dram" : counter ? "sram_ever" : "sram", out);
}

int nvmlDeviceGetSramEccErrorStatus(device *gpu, sram_status *out) {
    ENTER_DEVICE(gpu);
    long long ever = number(gpu, "sram_ever", 0), now = number(gpu, "sram", 0);
    memset(out->counts, 0, sizeof out->counts);
    out->counts[0] = ever, out->counts[3] = now;
    return give_number(gpu, "threshold", &out->exceeded);
}

int nvmlDeviceGetRemappedRows(device *gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    unsigned *out[] = { corrected, uncorrected, pending, failed };
    ENTER_DEVICE(gpu);
    for (int i = 0; i < 4; i++) {
        if (part(gpu, "rows", i) < 0) return NOT_SUPPORTED;
        *out[i] = (unsigned)part(gpu, "rows", i);
    }
    return SUCCESS;
}

int nvmlDeviceGetRowRemapperHistogram(device *gpu, unsigned *out) {
    ENTER_DEVICE(gpu);
    if (part(gpu, "banks", 0) < 0) return NOT_SUPPORTED;
    for (int i = 0; i < 5; i++) out[i] = (unsigned)part(gpu, "banks", i);
    return SUCCESS;
}

int nvmlDeviceGetRetiredPages(device *gpu, unsigned cause, unsigned *count, unsigned long long *out) {
    ENTER_DEVICE(gpu);
    long long found = part(gpu, "retired", (int)cause);
    if (found < 0) return NOT_SUPPORTED;
    unsigned room = *count;
    *count = (unsigned)found;
    if (!out || room < found) return found ? INSUFFICIENT_SIZE : SUCCESS;
    for (long long i = 0; i < found; i++) out[i] = 0x1000ull * i;
    return SUCCESS;
}

int nvmlDeviceGetUnrepairableMemoryFlag_v1(device *gpu, unrepairable_memory *out) {
    ENTER_DEVICE(gpu);
    return give_number(gpu, "unrepairable", &out->flag);
}

int nvmlDeviceValidateInforom(device *gpu) {
    ENTER_DEVICE(gpu);
    return (int)number(gpu, "inforom", NOT_SUPPORTED);
}

int nvmlDeviceGetGspFirmwareMode(device *gpu, unsigned *enabled, unsigned *usual) {
    ENTER_DEVICE(gpu);
    *usual = 1;
    return give_number(gpu, "gsp", enabled);
}

typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique, state, health; } fabric_info;

int nvmlDeviceGetGpuFabricInfoV(device *gpu, fabric_info *out) {
    ENTER_DEVICE(gpu);
    if (out->version != 0x02000024) return 25;
    memset(out->cluster, 0, sizeof out->cluster);
    if (part(gpu, "fabric", 0) < 0) return NOT_SUPPORTED;
    out->state = (unsigned)part(gpu, "fabric", 0), out->status = (unsigned)part(gpu, "fabric", 1);
    out->health = (unsigned)number(gpu, "health", 0), out->clique = (unsigned)number(gpu, "clique", 0);
    if (out->clique) out->cluster[0] = 0xab;
    return SUCCESS;
}

typedef struct {
    unsigned id, scope;
    long long stamp, latency;
    unsigned type, code;
    union { unsigned number; unsigned long long wide; } value;
} field_value;

int nvmlDeviceGetFieldValues(device *gpu, int count, field_value *out) {
    ENTER_DEVICE(gpu);
    for (int i = 0; i < count; i++) {
        const char *key = out[i].id == 82 ? "memtemp" : out[i].id == 226 ? "reset" : out[i].id == 227 ? "drain"
                          : out[i].id == 230 ? "recovery" : "";
        char link[32];
        if (out[i].id == 214) snprintf(link, sizeof link, "link%u_failed", out[i].scope), key = link;
        out[i].type = 1, out[i].value.wide = 0;
        out[i].code = (unsigned)give_number(gpu, key, &out[i].value.number);
    }
    return SUCCESS;
}

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_info;

int nvmlDeviceGetComputeRunningProcesses_v3(device *gpu, unsigned *count, process_info *out) {
    char text[512], *next = text;
    ENTER_DEVICE(gpu);
    if (!value(gpu, "processes", text, sizeof text)) return NOT_SUPPORTED;
    unsigned found = 0, room = *count;
    for (char *one; (one = strsep(&next, ",")); ) {
        unsigned pid;
        unsigned long long used;
        if (sscanf(one, "%u:%llu", &pid, &used) != 2) continue;
        if (out && found < room) out[found] = (process_info){ pid, used, ~0u, ~0u };
        found++;
    }
    *count = found;
    return found && (!out || found > room) ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device *gpu, unsigned link, pci_info *out) {
    ENTER_DEVICE(gpu);
    memset(out, 0, sizeof *out);
    (void)link;
    return value(gpu, "remote", out->bus_id, sizeof out->bus_id) ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkErrorCounter(device *gpu, unsigned link, unsigned counter, unsigned long long *out) {
    ENTER_DEVICE(gpu);
    (void)link;
    if (part(gpu, "link_errors", 0) < 0) return NOT_SUPPORTED;
    *out = (unsigned long long)part(gpu, "link_errors", (int)counter);
    return SUCCESS;
}

/* How two GPUs are connected: the level (0), and the P2P status for reading (1) and for NVLink (2). */
static int between(device *first, device *second, int what) {
    for (unsigned i = 0; i < pair_count; i++)
        if (first == &gpus[pairs[i].a] && second == &gpus[pairs[i].b])
            return what == 0 ? (int)pairs[i].level : what == 1 ? pairs[i].read : pairs[i].nvlink;
    return -1;
}

int nvmlDeviceGetTopologyCommonAncestor(device *first, device *second, unsigned *out) {
    ENTER_DEVICE(first);
    int found = between(first, second, 0);
    if (found < 0) return NOT_SUPPORTED;
    *out = (unsigned)found;
    return SUCCESS;
}

int nvmlDeviceGetP2PStatus(device *first, device *second, unsigned kind, unsigned *out) {
    ENTER_DEVICE(first);
    int found = between(first, second, kind == 2 ? 2 : 1);
    if (found < 0) return NOT_SUPPORTED;
    *out = (unsigned)found;
    return SUCCESS;
}

int nvmlSystemGetConfComputeSettings(confidential_settings *out) {
    ENTER();
    out->environment = 2, out->feature = (unsigned)confidential, out->several = (unsigned)confidential_mode;
    return SUCCESS;
}

int nvmlSystemGetConfComputeGpusReadyState(unsigned *out) {
    ENTER();
    *out = (unsigned)confidential_ready;
    return SUCCESS;
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
