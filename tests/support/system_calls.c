/* Preloaded into a process under test: ends it with SIGKILL at the n-th call that changes a file, counted from 0.
   A write is left half done. Nothing is counted before faults_kill_at. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long seen = 0;
static long at = -1;
static atomic_int counts = 0;

void faults_kill_at(long number) { at = number; seen = 0; counts = 1; }
long faults_seen(void) { counts = 0; return seen; }

static int now(void) { return counts && atomic_fetch_add(&seen, 1) == at; }
static void end(void) { kill(getpid(), SIGKILL); pause(); }

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) {
    ssize_t (*call)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    if (now()) { call(file, data, size / 2, offset); end(); }
    return call(file, data, size, offset);
}

#define BEFORE(kind, name, parameters, arguments) \
    kind name parameters { \
        kind (*call) parameters = dlsym(RTLD_NEXT, #name); \
        if (now()) end(); \
        return call arguments; \
    }

BEFORE(int, fsync, (int file), (file))
BEFORE(int, fdatasync, (int file), (file))
BEFORE(int, ftruncate64, (int file, off64_t size), (file, size))
BEFORE(int, unlink, (const char *path), (path))
BEFORE(int, rename, (const char *from, const char *to), (from, to))
BEFORE(int, rmdir, (const char *path), (path))
