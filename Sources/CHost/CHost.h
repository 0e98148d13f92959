// What Linux offers and Swift's Glibc module does not show: macros, variadic calls, and functions
// that glibc declares only with _GNU_SOURCE. Nothing here owns memory or keeps a descriptor; every
// call may come from any thread and reports failure by -1 and errno.

#pragma once

#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

/// For `lseek`: the next offset with data, the next one in a hole.
static const int apus_seek_data = 3;
static const int apus_seek_hole = 4;

/// For `tv_nsec` of `futimens`: leave this time stamp alone.
static const long apus_utime_omit = (1L << 30) - 2L;

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

/// syncfs(2): puts all of a file system on the disk, the one that holds an open file.
static inline int apus_synchronize_file_system(int descriptor) {
    return (int)syscall(SYS_syncfs, descriptor);
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
