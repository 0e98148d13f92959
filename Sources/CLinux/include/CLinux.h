// Linux for Swift: macros, variadic calls, and functions that glibc declares only with _GNU_SOURCE,
// which a module cannot ask for. No state, no memory and no descriptor is kept; every call may come
// from any thread and reports failure by -1 and errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/stat.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

/// For `openat`: O_PATH, the same on every architecture that Swift supports.
static const int apus_o_path = 010000000;

/// For `lseek`: the next offset with data, the next one in a hole.
static const int apus_seek_data = 3;
static const int apus_seek_hole = 4;

/// For `tv_nsec` of `futimens`: leave this time stamp alone.
static const long apus_utime_omit = (1L << 30) - 2L;

/// For `posix_spawnattr_setflags`: the child leads a session of its own.
enum { APUS_SPAWN_SETSID = 0x80 };

/// statx(2), with the time of birth and the number of the mount: looks at `name` in `directory`, or at `directory` itself if `name` is empty.
/// Follows no link, and mounts nothing.
static inline int apus_status(int directory, const char *name, struct statx *status) {
    const int symlink_nofollow = 0x100, no_automount = 0x800, empty_path = 0x1000;
    return (int)syscall(
        SYS_statx, directory, name, symlink_nofollow | no_automount | empty_path,
        STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, status);
}

/// listxattrat(2), from Linux 6.13 on: the size of the names of all extended attributes of `name` in
/// `directory`, without following a link. Before, it fails with ENOSYS.
static inline ssize_t apus_attribute_names_size(int directory, const char *name) {
    const long listxattrat = 465;  // on all architectures
    const int symlink_nofollow = 0x100;
    return syscall(listxattrat, directory, name, symlink_nofollow, (void *)0, (size_t)0);
}

/// Opens a socket that can be read once links or routes of this machine change, rtnetlink(7).
static inline int apus_open_route_changes(void) {
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
    };
    if (netlink >= 0 && bind(netlink, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(netlink);
        errno = error;
        return -1;
    }
    return netlink;
}

/// renameat2(2).
static inline int apus_rename(
    int directory, const char *name, int new_directory, const char *new_name, unsigned int flags) {
    return (int)syscall(SYS_renameat2, directory, name, new_directory, new_name, flags);
}

/// Whether a directory finds names regardless of their case (`chattr +F`). FS_IOC_GETFLAGS.
static inline bool apus_folds_names(int directory) {
    const int casefold = 0x40000000;
    int flags = 0;
    return ioctl(directory, FS_IOC_GETFLAGS, &flags) == 0 && (flags & casefold) != 0;
}

/// Makes `target` share all bytes of `source`. FICLONE, see ioctl_ficlonerange(2).
static inline int apus_share_bytes(int target, int source) {
    return ioctl(target, FICLONE, source);
}

/// copy_file_range(2) with both offsets given, so that no file position moves.
static inline ssize_t apus_copy_range(
    int source, int64_t source_offset, int target, int64_t target_offset, size_t count) {
    return syscall(
        SYS_copy_file_range, source, &source_offset, target, &target_offset, count, 0u);
}

/// Releases the blocks of a range, and keeps the length. fallocate(2), FALLOC_FL_PUNCH_HOLE.
static inline int apus_punch_hole(int descriptor, int64_t offset, int64_t count) {
    const int keep_size = 0x01, punch_hole = 0x02;
    return (int)syscall(SYS_fallocate, descriptor, keep_size | punch_hole, offset, count);
}

/// Whether a file is open beside `descriptor`, here or in another process. fcntl(2), F_SETLEASE: a lease
/// for writing is only granted to the sole user. It is given back at once; a process that opens the file
/// meanwhile waits, and this process gets SIGIO.
///
/// Returns 1, 0, or -1 if the file system has no leases.
static inline int apus_is_open_elsewhere(int descriptor) {
    const int set_lease = 1024;
    if (fcntl(descriptor, set_lease, F_WRLCK) == 0) {
        fcntl(descriptor, set_lease, F_UNLCK);
        return 0;
    }
    return errno == EAGAIN ? 1 : -1;
}

/// syncfs(2): puts all of a file system on the disk, the one that holds an open file.
static inline int apus_synchronize_file_system(int descriptor) {
    return (int)syscall(SYS_syncfs, descriptor);
}

/// sync_file_range(2) that only waits: fails if the kernel could not write the file's pages since
/// the descriptor was opened.
static inline int apus_await_written(int descriptor) {
    return (int)syscall(
        SYS_sync_file_range, descriptor, (int64_t)0, (int64_t)0, SYNC_FILE_RANGE_WAIT_BEFORE);
}

/// Limits the arenas of malloc. mallopt(3), glibc only; returns whether it succeeded.
static inline bool apus_limit_arenas(int count) {
#ifdef M_ARENA_MAX
    return mallopt(M_ARENA_MAX, count) == 1;
#else
    (void)count;
    return false;
#endif
}

/// Names the calling thread. The kernel copies the name and keeps its first 15 bytes.
static inline void apus_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// The flags of `chattr` of an open file or directory; see ioctl_iflags(2).
static inline int apus_get_inode_flags(int descriptor, int *flags) {
    return ioctl(descriptor, FS_IOC_GETFLAGS, flags);
}
static inline int apus_set_inode_flags(int descriptor, int flags) {
    return ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
}
static const int apus_immutable_flag = FS_IMMUTABLE_FL;

/// Returns a descriptor (close-on-exec) that polls readable once the process has ended; the caller
/// closes it. glibc has a wrapper since 2.36; the call is older.
static inline int apus_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

/// Starts `path` with `output` and `errors` as its standard output and error, nothing else of ours open, and no
/// signal ignored or blocked. With `keeps_terminal` it shares our terminal and our standard input, and receives
/// Ctrl-C as we do; otherwise it has no input, and a session and a process group of its own.
///
/// The kernel kills it (PR_SET_PDEATHSIG) when the *thread* that called this ends, so call it from a thread
/// that lives as long as the program. Returns 0 with the process in `child`, or an error number; a program
/// that cannot be executed ends with status 127.
int apus_start_program(
    const char *path, char *const arguments[], char *const environment[], int output, int errors,
    bool keeps_terminal, pid_t *child);

/// Starts `path` as a child that handles untrusted data: its standard input is `channel`, a socket, and nothing
/// else of ours is open. It has no network, at most `data_bytes_max` of writable memory, and can neither write
/// files, dump core nor gain privileges.
///
/// `ruleset` is Landlock's, or -1: it restricts the program before its first instruction. Otherwise as
/// `apus_start_program`.
int apus_start_confined(
    const char *path, char *const arguments[], char *const environment[], int channel, int ruleset,
    uint64_t data_bytes_max, pid_t *child);

/// Creates a Landlock ruleset that denies all the kernel can deny: files, TCP, abstract sockets and signals to
/// others. Returns a descriptor (close-on-exec), or -1 if the kernel has no Landlock.
int apus_landlock_create(void);

/// Allows reading and executing an open file, or all below an open directory.
int apus_landlock_allow_reading(int ruleset, int file, bool is_directory);

/// Forbids core dumps and debuggers for the calling process. Not inherited by programs that it executes.
int apus_forbid_inspection(void);

/// Sends SIGXCPU to the calling process once it has used this many more seconds of processor time, or up to two
/// more.
int apus_allow_processor_seconds(uint64_t seconds);

/// The name under which this process was started, without directories; never NULL.
const char *apus_program_name(void);
