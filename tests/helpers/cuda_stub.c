/* A libcuda.so.1 for tests: it keeps what each launch was given, as the GPU would have seen it. A test says how many
   bytes the parameters of a kernel take, as a real driver reads it from the binary, and which call fails. Memory at
   2^40 * (1 + device) and above belongs to that device, memory below to the computer. */
#include <string.h>
#include <unistd.h>

#define LAUNCHES 4096
#define PARAMETERS 64
#define FUNCTIONS 64
#define OWNER_SHIFT 40
enum { OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };

typedef unsigned long long Word;
typedef struct { unsigned grid[3], block[3], shared; void *stream; void *attributes; unsigned num_attributes; } Config;
typedef struct {
    char name[128];
    unsigned grid[3], block[3], shared, num_attributes, num_bytes;
    Word stream, context;
    unsigned char bytes[8 * PARAMETERS];
} Launch;

typedef struct { char name[128]; unsigned num_parameters, sizes[PARAMETERS]; int dynamic_shared; } Function;

Launch stub_launches[LAUNCHES];
unsigned stub_num_launches;
char stub_failing[64];
int stub_failing_code;
unsigned stub_delay_us; // before a launch reads its parameters

static Function functions[FUNCTIONS];
static unsigned num_functions;
static __thread void *current;

#define FAIL_IF_ASKED if (strcmp(stub_failing, __func__) == 0) return stub_failing_code;

void stub_parameters(Function *function, unsigned count, const unsigned *sizes) {
    function->num_parameters = count;
    memcpy(function->sizes, sizes, count * sizeof *sizes);
}

int stub_dynamic_shared(Function *function) { return function->dynamic_shared; }

int cuGetErrorString(int code, const char **text) {
    *text = code == 719 ? "unspecified launch failure" : "some other error";
    return OK;
}

int cuDeviceGet(int *device, int number) { *device = number; return OK; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    FAIL_IF_ASKED
    *value = attribute == 97 ? 101376 : attribute == 81 ? 102400 : 1000 + attribute;
    return OK;
}

int cuCtxGetCurrent(void **context) { FAIL_IF_ASKED *context = current; return OK; }
int cuCtxSetCurrent(void *context) { current = context; return OK; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
    FAIL_IF_ASKED
    *context = (void *)(Word)(1 + device);
    return OK;
}

int cuModuleLoadData(void **module, const void *data) {
    FAIL_IF_ASKED
    *module = (void *)data;
    return current ? OK : INVALID_CONTEXT;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    Function *new = &functions[num_functions++ % FUNCTIONS];
    memset(new, 0, sizeof *new);
    strncpy(new->name, name, sizeof new->name - 1);
    *function = new;
    return OK;
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 0 ? 1024 : attribute == 1 ? 16 : attribute == 3 ? 8 : 40;
    return OK;
}

int cuFuncSetCacheConfig(void *function, int config) { return OK; }
int cuFuncSetAttribute(Function *function, int attribute, int value) {
    if (attribute == 8) function->dynamic_shared = value;
    return OK;
}

int cuPointerGetAttribute(void *value, int attribute, Word pointer) {
    if (pointer >> OWNER_SHIFT == 0) return INVALID_VALUE;
    if (attribute == 3) *(Word *)value = pointer;
    if (attribute == 9) *(int *)value = (int)(pointer >> OWNER_SHIFT) - 1;
    return OK;
}

int cuLaunchKernelEx(const Config *config, Function *function, void **parameters, void **extra) {
    FAIL_IF_ASKED
    if (!current) return INVALID_CONTEXT;
    if (!function || extra) return INVALID_HANDLE;
    if (stub_delay_us) usleep(stub_delay_us);
    Launch *launch = &stub_launches[__atomic_fetch_add(&stub_num_launches, 1, __ATOMIC_SEQ_CST) % LAUNCHES];
    memcpy(launch->grid, config->grid, sizeof config->grid);
    memcpy(launch->block, config->block, sizeof config->block);
    launch->shared = config->shared;
    launch->num_attributes = config->num_attributes;
    launch->stream = (Word)config->stream;
    memcpy(launch->name, function->name, sizeof launch->name);
    launch->context = (Word)current;
    launch->num_bytes = 0;
    for (unsigned i = 0; i < function->num_parameters; i++) {
        memcpy(launch->bytes + launch->num_bytes, parameters[i], function->sizes[i]);
        launch->num_bytes += function->sizes[i];
    }
    return OK;
}

/* Triton's own module in C needs these to be there. */
int cuDriverGetVersion(int *version) { *version = 13000; return OK; }
int cuCtxGetLimit(void) { return INVALID_VALUE; }
int cuCtxSetLimit(void) { return INVALID_VALUE; }
