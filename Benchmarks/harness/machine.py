"""Processes, mounts and caches of this machine, and the clean-up of all that a bench makes."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Failure(Exception):
    """A reason, in one line, why a measurement could not be made."""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Scope:
    """Undoes what was made, newest first, whatever happens."""

    def __init__(self):
        self.undoes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, undo, *arguments):
        self.undoes.append((undo, arguments))

    def close(self):
        while self.undoes:
            undo, arguments = self.undoes.pop()
            try:
                undo(*arguments)
            except Exception as error:  # The rest is undone all the same.
                say(f"bench: while cleaning up: {error}")


def end_on_signals():
    """Turns the signals that end a program into an exception, so that scopes are closed."""

    def end(number, _):
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def make_directory(scope):
    """Makes a temporary directory that servers can enter after they have given up root's rights."""
    path = tempfile.mkdtemp(prefix="apus-bench.")
    os.chmod(path, 0o755)
    scope.add(remove_tree, path)
    return path


def remove_tree(path):
    if mounts_below(path):
        raise Failure(f"{path} is kept, as something is still mounted in it")
    shutil.rmtree(path, onerror=unprotect_and_retry)


def unprotect_and_retry(function, path, _):
    """Removes directories that a mount or a program has left without write permission."""
    if not os.path.lexists(path):
        return
    subprocess.run(["chattr", "-i", path], capture_output=True)
    for place in (os.path.dirname(path), path):
        if not os.path.islink(place):
            os.chmod(place, os.stat(place).st_mode | 0o700)
    function(path)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


# Programs


class Program:
    """A process in a session of its own, which ends when the bench does."""

    def __init__(self, arguments, log, environment=None, output=None, directory=None):
        self.name, self.log = os.path.basename(arguments[0]), log
        try:
            with open(log, "ab") as file:
                self.process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=output or file,
                    stderr=file,
                    env={**os.environ, **(environment or {})},
                    cwd=directory,
                    start_new_session=True,
                    preexec_fn=end_with_parent,
                )
        except OSError as error:
            raise Failure(f"{self.name} cannot be started: {error.strerror}") from error

    @property
    def pid(self):
        return self.process.pid

    @property
    def is_running(self):
        return self.process.poll() is None

    def wait(self, seconds):
        """Waits for its end, and returns whether it came."""
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def stop(self, seconds=20):
        """Asks it to end, and kills it with its children if it does not."""
        if self.is_running:
            self.process.terminate()
            self.wait(seconds)
        self.kill()

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def last_words(self):
        """The end of its log, in one line."""
        with open(self.log, errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[-1][-300:] if lines else "it said nothing"


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def run(arguments, limit=600, environment=None, directory=None):
    """Runs a command to its end, in a session of its own, and returns its output."""
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        cwd=directory,
        start_new_session=True,
        text=True,
    )
    name = os.path.basename(arguments[0])
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failure(f"{name} took longer than {limit} s") from None
    finally:
        # Whatever it started too; a process that hangs in a mount ends when that is gone.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if process.returncode:
        words = [line for line in errors.splitlines() if line.strip()]
        said = words[-1].strip()[-300:] if words else "it said nothing"
        raise Failure(f"{name} ended with status {process.returncode}: {said}")
    return output


def eventually(what, seconds, is_done, interval=0.01):
    """Waits until something is so, and returns the time at which it was seen."""
    end = time.monotonic() + seconds
    while True:
        if is_done():
            return time.monotonic()
        if time.monotonic() > end:
            raise Failure(f"{what} took longer than {seconds} s")
        time.sleep(interval)


# Costs of a daemon


def family(pid):
    """A process and its descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat_fields(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
    members = [pid]
    for member in members:
        members += children.get(member, [])
    return members


def stat_fields(pid):
    """The fields of /proc/PID/stat from the state on, or nothing if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def cpu_seconds(pid):
    """Processor time of a process, its descendants, and those that have ended."""
    ticks = 0
    for member in family(pid):
        if fields := stat_fields(member):
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_peak(pid):
    """The largest resident memory so far, in MiB, of a process and its descendants."""
    kilobytes = 0
    for member in family(pid):
        try:
            with open(f"/proc/{member}/status") as file:
                kilobytes += sum(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        except OSError:
            pass
    return kilobytes / 1024


# Mounts


def mounts_below(top):
    """The mount points at or below a directory, the newest first."""
    points = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            point = line.split()[4].replace("\\040", " ")
            if point == top or point.startswith(top + "/"):
                points.insert(0, point)
    return points


def force_unmount(top):
    for point in mounts_below(top):
        for command in (["fusermount3", "-uz", point], ["umount", "-l", point]):
            if point in mounts_below(top):
                subprocess.run(command, capture_output=True)


# Caches


def claim_memory(directory, mebibytes):
    """Writes a file and removes it, so that the next pages of files come from memory that was just in use.

    A virtual machine may get memory from its host only at the first use of each page, ten times slower
    than it copies a page, and give back within seconds what it does not use.
    """
    path = os.path.join(directory, "claimed")
    data = bytes(1 << 20)
    with open(path, "wb", buffering=0) as file:
        for _ in range(mebibytes):
            file.write(data)
    os.unlink(path)


def forget_pages(*places):
    """Drops files from the kernel's page cache, those of directories with all below.

    File by file, as /proc/sys/vm/drop_caches needs root and slows everything else down.
    """
    for place in places:
        paths = [place]
        if os.path.isdir(place):
            paths = [os.path.join(top, name) for top, _, names in os.walk(place) for name in names]
        for path in paths:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                os.fdatasync(descriptor)  # Pages that are not written stay.
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass
            finally:
                os.close(descriptor)


def describe():
    """This machine, since figures of different machines cannot be compared."""
    cpu, memory = "unknown", 0
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) / 1048576
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory:.0f} GiB",
        "kernel": os.uname().release,
    }
