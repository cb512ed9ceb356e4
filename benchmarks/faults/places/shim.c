#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/time.h>
static int without_locks(int fd) {
    const char *place = getenv("ROUGH_NO_LOCKS");
    char link[64], path[4096];
    if (!place) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strncmp(path, place, strlen(place)) == 0;
}
int flock(int fd, int op) {
    static int (*real)(int, int);
    if (!real) real = dlsym(RTLD_NEXT, "flock");
    if (without_locks(fd)) { errno = ENOLCK; return -1; }
    return real(fd, op);
}
long sysconf(int name) {
    static long (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "sysconf");
    const char *cores = getenv("ROUGH_CORES");
    if (cores && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return atol(cores);
    return real(name);
}
static long shift(void) {
    const char *file = getenv("ROUGH_CLOCK");
    if (!file) return 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    char text[32] = {0};
    if (fd < 0) return 0;
    if (read(fd, text, 31) < 0) text[0] = 0;
    close(fd);
    return atol(text);
}
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, now);
    if (code == 0 && id == CLOCK_REALTIME) now->tv_sec += shift();
    return code;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *tv, void *tz) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    tv->tv_sec = now.tv_sec; tv->tv_usec = now.tv_nsec / 1000;
    return 0;
}
