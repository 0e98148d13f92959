// Status, renaming and file systems of a directory's entries. Every function returns 0, or the
// negated error number.
#pragma once
#include <errno.h>
#include <linux/stat.h>
#include <stdint.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

// The values of <fcntl.h> and <linux/fs.h>, the same on every architecture that Swift supports.
static const int FOLDER_AT_FDCWD = -100;
static const int FOLDER_AT_SYMLINK_NOFOLLOW = 0x100;
static const int FOLDER_AT_NO_AUTOMOUNT = 0x800;
static const int FOLDER_AT_EMPTY_PATH = 0x1000;
static const int FOLDER_O_PATH = 010000000;
static const int FOLDER_RENAME_PLAIN = 0;
static const int FOLDER_RENAME_NOREPLACE = 1;
static const int FOLDER_RENAME_EXCHANGE = 2;

// What `statx` tells of one object.
struct folder_status {
    uint32_t mode;
    uint32_t links;
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t modified_seconds;
    uint32_t modified_nanoseconds;
    // Both 0 where the file system does not know when the object was made.
    int64_t born_seconds;
    uint32_t born_nanoseconds;
};

// Looks at `name` in `directory`, at `directory` itself where `name` is empty. Follows no link.
static inline int folder_get_status(int directory, const char *name, struct folder_status *status) {
    struct statx found;
    memset(&found, 0, sizeof found);
    int flags = FOLDER_AT_SYMLINK_NOFOLLOW | FOLDER_AT_NO_AUTOMOUNT | FOLDER_AT_EMPTY_PATH;
    unsigned int mask = STATX_BASIC_STATS | STATX_BTIME;
    if (syscall(SYS_statx, directory, name, flags, mask, &found) < 0)
        return -errno;
    memset(status, 0, sizeof *status);
    status->mode = found.stx_mode;
    status->links = found.stx_nlink;
    status->device = ((uint64_t)found.stx_dev_major << 32) | found.stx_dev_minor;
    status->inode = found.stx_ino;
    status->size = found.stx_size;
    status->modified_seconds = found.stx_mtime.tv_sec;
    status->modified_nanoseconds = found.stx_mtime.tv_nsec;
    if (found.stx_mask & STATX_BTIME) {
        status->born_seconds = found.stx_btime.tv_sec;
        status->born_nanoseconds = found.stx_btime.tv_nsec;
    }
    return 0;
}

// `renameat2` with one of the FOLDER_RENAME_ flags.
static inline int folder_rename(
    int old_directory, const char *old_name, int new_directory, const char *new_name,
    unsigned int flags
) {
    long result =
        syscall(SYS_renameat2, old_directory, old_name, new_directory, new_name, flags);
    return result < 0 ? -errno : 0;
}

// The magic number of the file system that holds `descriptor` and the bytes of its blocks, see
// statfs(2).
static inline int folder_file_system(int descriptor, uint64_t *type, uint64_t *block_bytes) {
    struct statfs found;
    if (fstatfs(descriptor, &found) < 0)
        return -errno;
    *type = (uint64_t)found.f_type & 0xffffffff;
    *block_bytes = (uint64_t)found.f_bsize;
    return 0;
}
