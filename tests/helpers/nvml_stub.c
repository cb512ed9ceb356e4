/* A libnvidia-ml.so.1 for tests, loaded by the real nvidia-ml-py. Its GPUs are described by the text file
   $NVML_STUB_STATE, read again at each query, so that a test plays a driver by writing lines:

   gpu I NAME              a GPU with this index, at PCI address 0000:0(I+1):00.0
   memory I TOTAL USED     bytes
   celsius I DEGREES
   milliwatts I POWER
   graphics I PID          a process that draws
   compute I PID           a process that computes
   use I PID PERCENT       of the GPU by a process
   lost I                  it fell off the bus
   no-processes            the driver does not tell processes, as in WSL
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS 8
#define PROCESSES 32
enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

typedef struct { int index; } Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } Process;
typedef struct { unsigned pid; unsigned long long time_stamp; unsigned sm, memory, encoder, decoder; } Sample;
typedef struct {
    char legacy_id[16]; unsigned domain, bus, device, device_id, subsystem_id; char id[32];
} Pci;

static struct {
    char name[96];
    Memory memory;
    unsigned celsius, milliwatts;
    int exists, lost, has_power, num_processes[2], num_samples;
    Process processes[2][PROCESSES];
    Sample samples[PROCESSES];
} gpus[GPUS];
static Device devices[GPUS];
static int initialized, tells_processes;
static unsigned long long now;

static void add_process(int i, int kind, unsigned pid) {
    if (gpus[i].num_processes[kind] < PROCESSES)
        gpus[i].processes[kind][gpus[i].num_processes[kind]++] = (Process){pid, 0, ~0u, ~0u};
}

static void parse(const char *line) {
    int i = 0;
    unsigned a = 0, b = 0;
    unsigned long long total = 0, used = 0;
    char name[96];
    if (strncmp(line, "no-processes", 12) == 0) tells_processes = 0;
    if (sscanf(line, "%*s %d", &i) != 1 || i < 0 || i >= GPUS) return;
    if (sscanf(line, "gpu %*d %95[^\n]", name) == 1) { gpus[i].exists = 1; strcpy(gpus[i].name, name); }
    if (sscanf(line, "memory %*d %llu %llu", &total, &used) == 2) gpus[i].memory = (Memory){total, total - used, used};
    if (sscanf(line, "celsius %*d %u", &a) == 1) gpus[i].celsius = a;
    if (sscanf(line, "milliwatts %*d %u", &a) == 1) { gpus[i].milliwatts = a; gpus[i].has_power = 1; }
    if (sscanf(line, "graphics %*d %u", &a) == 1) add_process(i, 0, a);
    if (sscanf(line, "compute %*d %u", &a) == 1) add_process(i, 1, a);
    if (sscanf(line, "use %*d %u %u", &a, &b) == 2 && gpus[i].num_samples < PROCESSES)
        gpus[i].samples[gpus[i].num_samples++] = (Sample){a, now, b, 0, 0, 0};
    if (strncmp(line, "lost", 4) == 0) gpus[i].lost = 1;
}

static void load(void) {
    const char *path = getenv("NVML_STUB_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    memset(gpus, 0, sizeof gpus);
    tells_processes = 1;
    now++;
    if (!file) return;
    while (fgets(line, sizeof line, file)) parse(line);
    fclose(file);
}

static int check(const Device *device) {
    if (!initialized) return UNINITIALIZED;
    load();
    if (!device || device->index < 0 || device->index >= GPUS || !gpus[device->index].exists) return INVALID;
    return gpus[device->index].lost ? LOST : OK;
}
#define CHECK(device) int status = check(device); if (status != OK) return status; int i = (device)->index

int nvmlInit_v2(void) {
    for (int i = 0; i < GPUS; i++) devices[i].index = i;
    initialized++;
    return OK;
}
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { if (!initialized) return UNINITIALIZED; initialized--; return OK; }
const char *nvmlErrorString(int code) {
    static char text[32];
    snprintf(text, sizeof text, "stub error %d", code);
    return text;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    if (!initialized) return UNINITIALIZED;
    snprintf(text, size, "580.65.06");
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!initialized) return UNINITIALIZED;
    load();
    *count = 0;
    for (int i = 0; i < GPUS; i++) *count += gpus[i].exists;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (index >= GPUS) return INVALID;
    *device = &devices[index];
    return check(*device);
}
int nvmlDeviceGetName(Device *device, char *text, unsigned size) {
    CHECK(device);
    snprintf(text, size, "%s", gpus[i].name);
    return OK;
}
int nvmlDeviceGetPciInfo_v3(Device *device, Pci *pci) {
    CHECK(device);
    memset(pci, 0, sizeof *pci);
    pci->bus = (unsigned)i + 1;
    snprintf(pci->id, sizeof pci->id, "00000000:%02X:00.0", i + 1);
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    CHECK(device);
    (void)i;
    *major = 9;
    *minor = 0;
    return OK;
}
int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) { CHECK(device); *memory = gpus[i].memory; return OK; }
int nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *celsius) {
    CHECK(device);
    (void)sensor;
    *celsius = gpus[i].celsius;
    return gpus[i].celsius ? OK : NOT_SUPPORTED;
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
    CHECK(device);
    *milliwatts = gpus[i].milliwatts;
    return gpus[i].has_power ? OK : NOT_SUPPORTED;
}
static int processes(Device *device, int kind, unsigned *count, Process *out) {
    CHECK(device);
    unsigned room = *count, found = (unsigned)gpus[i].num_processes[kind];
    if (!tells_processes) return NOT_SUPPORTED;
    *count = found;
    if (room < found) return TOO_SMALL;
    if (out) memcpy(out, gpus[i].processes[kind], sizeof(Process) * found);
    return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Device *d, unsigned *n, Process *out) { return processes(d, 0, n, out); }
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *n, Process *out) { return processes(d, 1, n, out); }
int nvmlDeviceGetProcessUtilization(Device *device, Sample *out, unsigned *count, unsigned long long since) {
    CHECK(device);
    (void)since; /* each look has samples of its own */
    unsigned room = *count, found = (unsigned)gpus[i].num_samples;
    if (!tells_processes) return NOT_SUPPORTED;
    if (!found) return NOT_FOUND; /* as the real one, when nothing ran */
    *count = found;
    if (!out || room < found) return TOO_SMALL;
    memcpy(out, gpus[i].samples, sizeof(Sample) * found);
    return OK;
}
