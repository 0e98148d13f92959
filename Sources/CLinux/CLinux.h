// Linux for Swift: what Glibc's module leaves out. Only system calls and constants, no state.
#pragma once
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

// Flag of posix_spawnattr_setflags: the child leads a session of its own. The header hides it
// without _GNU_SOURCE, which a module cannot ask for.
enum { APUS_SPAWN_SETSID = 0x80 };

// A descriptor (close-on-exec) that polls readable once the process has ended; -1 and errno. Glibc
// has a wrapper since 2.36; the call is older. The caller closes it.
static inline int apus_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
