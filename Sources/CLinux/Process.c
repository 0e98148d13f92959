// A source file, as a header with <fcntl.h> would take `struct stat` from Glibc's module.
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/// Starts `path` in a child that calls `prepare` first, which leaves only the streams 0, 1 and 2 as it wants them,
/// and returns whether to go on.
static int start(
    bool (*prepare)(const void *), const void *context, const char *path, char *const arguments[],
    char *const environment[], pid_t *child) {
    pid_t parent = getpid();
    sigset_t all, before, none;
    sigfillset(&all);
    sigemptyset(&none);
    // Else a handler of ours could run in the child.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t process = fork();
    int error = errno;
    if (process == 0) {
        for (int number = 1; number < 65; number++) signal(number, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (!prepare(context)) _exit(127);
        // After changes of identity, which can cancel it.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        syscall(SYS_close_range, 3u, ~0u, 0u);
        execve(path, arguments, environment);
        _exit(127);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process < 0) return error;
    *child = process;
    return 0;
}

struct streams {
    int output, errors;
    bool keeps_terminal;
};

static bool set_streams(const void *context) {
    const struct streams *streams = context;
    if (!streams->keeps_terminal) {
        setsid();
        int nothing = open("/dev/null", O_RDWR);
        if (nothing < 0 || dup2(nothing, 0) < 0) return false;
    }
    return dup2(streams->output, 1) >= 0 && dup2(streams->errors, 2) >= 0;
}

int apus_start_program(
    const char *path, char *const arguments[], char *const environment[], int output, int errors,
    bool keeps_terminal, pid_t *child) {
    struct streams streams = {output, errors, keeps_terminal};
    return start(set_streams, &streams, path, arguments, environment, child);
}

struct confinement {
    int channel, ruleset;
    uint64_t data_bytes_max;
};

static bool limit(int resource, rlim_t value) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return false;
    if (value > now.rlim_max) value = now.rlim_max;
    return setrlimit(resource, &(struct rlimit){value, value}) == 0;
}

/// Keeps at most the capability to read what root may read: libraries in a directory of another user.
static bool drop_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0) return false;
    data[0].permitted &= 1u << CAP_DAC_OVERRIDE;
    data[0].effective = data[0].permitted;
    data[0].inheritable = 0;
    data[1] = (struct __user_cap_data_struct){0};
    return syscall(SYS_capset, &header, data) == 0;
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// Denies sockets of all families, and io_uring, which can make them too. Other calls stay, as those that
/// libraries need change with their versions.
static bool deny_sockets(void) {
#ifdef ARCHITECTURE
    const unsigned int first_x32 = 0x40000000, io_uring_setup = 425;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return false;
#endif
}

static bool confine(const void *context) {
    const struct confinement *confinement = context;
    setsid();
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || chdir("/") != 0) return false;
    if (dup2(confinement->channel, 0) < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0)
        return false;
    if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_NOFILE, 64) ||
        !limit(RLIMIT_DATA, confinement->data_bytes_max))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    // A network without interfaces; users other than root need a user namespace for it. Not every system permits
    // one, and not every system has filters: without either, the program is not started.
    bool has_namespace = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!drop_capabilities()) return false;
    const int restrict_self = 446;
    if (confinement->ruleset >= 0 && syscall(restrict_self, confinement->ruleset, 0u) != 0)
        return false;
    return deny_sockets() || has_namespace;
}

int apus_start_confined(
    const char *path, char *const arguments[], char *const environment[], int channel, int ruleset,
    uint64_t data_bytes_max, pid_t *child) {
    struct confinement confinement = {channel, ruleset, data_bytes_max};
    return start(confine, &confinement, path, arguments, environment, child);
}

const char *apus_program_name(void) { return program_invocation_short_name; }

int apus_forbid_inspection(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int apus_allow_processor_seconds(uint64_t seconds) {
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0) return -1;
    // Counted in microseconds and rounded up.
    rlim_t parts = (rlim_t)used.ru_utime.tv_usec + (rlim_t)used.ru_stime.tv_usec;
    limit.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec +
                     (parts + 999999) / 1000000 + seconds;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_CPU, &limit);
}

// Landlock, by numbers of our own: the kernel's header may be older than the kernel. Calls have the same
// numbers on every architecture.

int apus_landlock_create(void) {
    const int create_ruleset = 444;
    const unsigned int version_flag = 1;
    long version = syscall(create_ruleset, NULL, (size_t)0, version_flag);
    if (version < 1) return -1;
    struct {
        uint64_t files, network, scoped;
    } handled = {.files = 0x1fff, .network = 3, .scoped = 3};
    if (version >= 2) handled.files |= 1u << 13; // links and renames between directories
    if (version >= 3) handled.files |= 1u << 14; // truncation
    if (version >= 5) handled.files |= 1u << 15; // ioctl of devices
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    return (int)syscall(create_ruleset, &handled, size, 0u);
}

int apus_landlock_allow_reading(int ruleset, int file, bool is_directory) {
    const int add_rule = 445, path_beneath = 1;
    const uint64_t execute = 1, read_file = 4, read_directory = 8;
    struct {
        uint64_t access;
        int32_t file;
    } __attribute__((packed)) rule = {execute | read_file, file};
    if (is_directory) rule.access |= read_directory;
    return (int)syscall(add_rule, ruleset, path_beneath, &rule, 0u);
}
