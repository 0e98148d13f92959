// libfuse 3's low-level API for Swift.
//
// Ownership: a `fuse_req_t` lives until exactly one fuse_reply_* call takes it; libfuse accepts that
// call on any thread. Pointers that a callback receives (names, buffers, file infos) live only until
// the callback returns. Callbacks arrive on libfuse's loop threads, several at once.
#pragma once

// Libraries that tell their version in a header of its own know the newer loop configuration; the
// older API is for distributions with libfuse 3.10.
#if defined(__has_include)
#if __has_include(<libfuse_config.h>)
#define FUSE_USE_VERSION 312
#endif
#endif
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 35
#endif

#include <errno.h>
#include <fuse_log.h>
#include <fuse_lowlevel.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

// Serves requests on several threads until the session ends.
//
// Threads are made while requests wait, up to `threads_max` where the library has such a bound, and
// then stay: making and ending threads all the time costs more than their idle stacks.
//
// Returns 0, or what went wrong as an errno of either sign.
static inline int apus_session_loop(struct fuse_session *session, unsigned int threads_max) {
#if FUSE_USE_VERSION >= 312
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (config == NULL) return ENOMEM;
    fuse_loop_cfg_set_max_threads(config, threads_max);
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
#else
    struct fuse_loop_config config = {.clone_fd = 0, .max_idle_threads = threads_max};
    return fuse_session_loop_mt(session, &config);
#endif
}

// A macro in some versions of the library.
static inline struct fuse_session *apus_session_new(
    struct fuse_args *arguments, const struct fuse_lowlevel_ops *operations, void *userdata) {
    return fuse_session_new(arguments, operations, sizeof(*operations), userdata);
}

// Linux: FATTR_KILL_SUIDGID, which libfuse passes on in the bits of SETATTR.
static const int apus_setattr_clears_set_id = 1 << 11;

// The bit by which WRITE and OPEN tell their callbacks, in the flags of `fuse_file_info`, that the
// set-user-ID and set-group-ID bits have to be cleared. No open flag of Linux has this value.
static const int apus_clears_set_id = 1 << 30;

// Before 3.17, libfuse answers the kernel's INIT without FUSE_PARALLEL_DIROPS, although the session
// wants it: the kernel then locks a directory for each LOOKUP and READDIR, and a READDIR that waits
// stops all lookups beside it. It has no names for two others: without FUSE_HANDLE_KILLPRIV_V2 the
// kernel asks for `security.capability` before each write, and without FUSE_DIRECT_IO_ALLOW_MMAP a file
// that is opened with FOPEN_DIRECT_IO cannot be mapped with MAP_SHARED. These flags are set in the answer
// on its way to the kernel; one that does not know a flag ignores it. That takes libfuse 3.13, the first
// whose input and output can be replaced.
#if FUSE_MAJOR_VERSION == 3 && FUSE_MINOR_VERSION >= 13
// Of the kernel's interface: `struct fuse_out_header`, and the beginning of `struct fuse_init_out`,
// which has 64 bytes.
struct apus_reply_header {
    uint32_t bytes;
    int32_t error;
    uint64_t unique;
};
struct apus_init_answer {
    uint32_t major, minor, max_readahead, flags;
    uint32_t limits[4];
    uint32_t flags2, max_stack_depth;
};

// Whether an answer is the one to INIT: the first request, which has the lowest number.
static inline int apus_is_init_answer(const struct iovec *parts, int count) {
    const size_t init_bytes = 64;
    struct apus_reply_header header;
    struct apus_init_answer answer;
    if (count != 2 || parts[0].iov_len != sizeof(header) || parts[1].iov_len != init_bytes) return 0;
    memcpy(&header, parts[0].iov_base, sizeof(header));
    memcpy(&answer, parts[1].iov_base, sizeof(answer));
    return (header.unique == 1 || header.unique == 2) && header.error == 0 && answer.major == 7;
}

static inline void apus_complete_init_answer(struct iovec *parts, int count, int lends) {
    const uint32_t parallel_dirops = 1u << 18, handle_killpriv_v2 = 1u << 28, extended = 1u << 30;
    // FUSE_DIRECT_IO_ALLOW_MMAP is bit 36 of all flags, FUSE_PASSTHROUGH bit 37.
    const uint32_t direct_io_allow_mmap = 1u << 4, passthrough = 1u << 5;
    if (!apus_is_init_answer(parts, count)) return;
    struct apus_init_answer answer;
    memcpy(&answer, parts[1].iov_base, sizeof(answer));
    answer.flags |= parallel_dirops | handle_killpriv_v2 | extended;
    answer.flags2 |= direct_io_allow_mmap;
    if (lends) {
        answer.flags2 |= passthrough;
        // Of the file system with the files: not one that is stacked on others itself.
        answer.max_stack_depth = 1;
    }
    memcpy(parts[1].iov_base, &answer, sizeof(answer));
}

static inline ssize_t apus_write_parts(int fd, struct iovec *parts, int count, void *userdata) {
    (void)userdata;
    apus_complete_init_answer(parts, count, 0);
    return writev(fd, parts, count);
}

static inline ssize_t apus_write_parts_lending(
    int fd, struct iovec *parts, int count, void *userdata) {
    (void)userdata;
    apus_complete_init_answer(parts, count, 1);
    return writev(fd, parts, count);
}

// Copies a flag that libfuse drops, FUSE_WRITE_KILL_SUIDGID or FUSE_OPEN_KILL_SUIDGID, to a field that
// it passes on, see `apus_clears_set_id`.
static inline void apus_pass_on_clearing(unsigned char *request, size_t bytes) {
    // Of the kernel's `struct fuse_in_header`, `fuse_open_in` and `fuse_write_in`.
    const size_t opcode_at = 4, body_at = 40;
    const size_t open_flags_at = body_at, open_bits_at = body_at + 4, open_end = body_at + 8;
    const size_t write_bits_at = body_at + 20, write_flags_at = body_at + 32;
    const uint32_t opcode_open = 14, opcode_write = 16;
    const uint32_t open_kill = 1u << 0, write_kill = 1u << 2;
    uint32_t opcode, bits, flags;
    if (bytes < open_end) return;
    memcpy(&opcode, request + opcode_at, sizeof(opcode));
    size_t flags_at;
    if (opcode == opcode_write && bytes >= write_flags_at + sizeof(flags)) {
        memcpy(&bits, request + write_bits_at, sizeof(bits));
        if (!(bits & write_kill)) return;
        flags_at = write_flags_at;
    } else if (opcode == opcode_open) {
        memcpy(&bits, request + open_bits_at, sizeof(bits));
        if (!(bits & open_kill)) return;
        flags_at = open_flags_at;
    } else {
        return;
    }
    memcpy(&flags, request + flags_at, sizeof(flags));
    flags |= (uint32_t)apus_clears_set_id;
    memcpy(request + flags_at, &flags, sizeof(flags));
}

static inline ssize_t apus_read_request(int fd, void *buffer, size_t bytes, void *userdata) {
    (void)userdata;
    ssize_t count = read(fd, buffer, bytes);
    if (count > 0) apus_pass_on_clearing(buffer, (size_t)count);
    return count;
}

static inline ssize_t apus_splice(
    int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes, unsigned int flags,
    void *userdata) {
    (void)userdata;
    return syscall(SYS_splice, from, from_offset, to, to_offset, bytes, flags);
}
#endif

// Has a mounted session answer INIT with these flags, and ask for passthrough too if it lends files.
// Without them the mount works too.
//
// Returns whether it does; false for another version of the library, or for lack of memory.
static inline int apus_session_complete_init(struct fuse_session *session, int lends) {
#if FUSE_MAJOR_VERSION == 3 && FUSE_MINOR_VERSION >= 13
    // The version of the library in use, which may be newer than its header.
    if (fuse_version() >= FUSE_MAKE_VERSION(3, 17)) return 0;
    const struct fuse_custom_io io = {
        .writev = lends ? apus_write_parts_lending : apus_write_parts, .read = apus_read_request,
        .splice_receive = apus_splice, .splice_send = apus_splice};
#if FUSE_USE_VERSION >= FUSE_MAKE_VERSION(3, 17)
    return fuse_session_custom_io(session, &io, sizeof(io), fuse_session_fd(session)) == 0;
#else
    return fuse_session_custom_io(session, &io, fuse_session_fd(session)) == 0;
#endif
#else
    (void)session, (void)lends;
    return 0;
#endif
}

// Gives a session's kernel side a file to read by itself. Linux: FUSE_DEV_IOC_BACKING_OPEN, from 6.9 on;
// the kernel keeps its own reference to the file.
//
// Returns an identifier, which is positive, or the negative of an errno.
static inline int apus_backing_open(struct fuse_session *session, int file) {
    const struct apus_backing_map {
        int32_t fd;
        uint32_t flags;
        uint64_t padding;
    } map = {.fd = file};
    int identifier = ioctl(fuse_session_fd(session), _IOW(229, 1, struct apus_backing_map), &map);
    return identifier < 0 ? -errno : identifier;
}

// Ends the use of an identifier for further opens. Linux: FUSE_DEV_IOC_BACKING_CLOSE.
static inline void apus_backing_close(struct fuse_session *session, int identifier) {
    const uint32_t number = (uint32_t)identifier;
    (void)ioctl(fuse_session_fd(session), _IOW(229, 2, uint32_t), &number);
}

// Answers OPEN: the kernel reads the handle's file by itself, or, if `asks`, only maps it by itself.
// Linux: FOPEN_PASSTHROUGH, for which libfuse before 3.17 has no field.
static inline int apus_reply_lent(fuse_req_t request, uint64_t handle, int identifier, int asks) {
    const uint32_t direct_io = 1u << 0, no_flush = 1u << 5, passthrough = 1u << 7;
    const struct {
        uint64_t handle;
        uint32_t flags;
        int32_t identifier;
    } answer = {
        .handle = handle,
        .flags = passthrough | no_flush | (asks ? direct_io : 0),
        .identifier = identifier};
    return fuse_reply_buf(request, (const char *)&answer, sizeof(answer));
}

// Makes a mount's names invalid, so that the kernel asks again for each that it uses. Linux:
// FUSE_NOTIFY_INC_EPOCH; refused before 6.16.
static inline void apus_notify_epoch(struct fuse_session *session) {
    const struct {
        uint32_t bytes;
        int32_t code;
        uint64_t unique;
    } notification = {.bytes = sizeof(notification), .code = 8};
    ssize_t written = write(fuse_session_fd(session), &notification, sizeof(notification));
    (void)written;
}

// Says that closing this handle needs no FLUSH, where the library can say so.
static inline void apus_file_info_set_noflush(struct fuse_file_info *info) {
#if FUSE_USE_VERSION >= 312
    info->noflush = 1;
#else
    (void)info;
#endif
}

// Linux: O_DIRECT and RENAME_NOREPLACE, hidden behind _GNU_SOURCE.
static const int apus_o_direct = __O_DIRECT;
static const unsigned int apus_rename_noreplace = 1;

// Linux: the numbers of the system calls that tell where a symbolic link points; newer machines have
// the second only.
static const long apus_readlinkat = SYS_readlinkat;
#ifdef SYS_readlink
static const long apus_readlink = SYS_readlink;
#else
static const long apus_readlink = SYS_readlinkat;
#endif

// Linux: pipe2 with O_CLOEXEC, hidden likewise.
static inline int apus_pipe_cloexec(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    for (int end = 0; end < 2; end++) fcntl(ends[end], F_SETFD, FD_CLOEXEC);
    return 0;
}
