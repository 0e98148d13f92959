// A source file, as a header with <fcntl.h> would take `struct stat` from Glibc's module.
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

int apus_start_program(
    const char *path, char *const arguments[], char *const environment[], int output, int errors,
    bool keeps_terminal, pid_t *child) {
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
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        if (!keeps_terminal) {
            setsid();
            int nothing = open("/dev/null", O_RDWR);
            if (nothing < 0 || dup2(nothing, 0) < 0) _exit(127);
        }
        if (dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(127);
        syscall(SYS_close_range, 3u, ~0u, 0u);
        execve(path, arguments, environment);
        _exit(127);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process < 0) return error;
    *child = process;
    return 0;
}
