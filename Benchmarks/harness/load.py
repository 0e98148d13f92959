"""A run of works that put a mount under load, and the bounds that they yield.

Sizes are those of the promises; `scale` makes them smaller for a trial.
"""

import contextlib
import json
import os
import resource
import signal
import time
from dataclasses import asdict, dataclass

from .machine import (
    Failure,
    Program,
    eventually,
    force_unmount,
    make_directory,
    run,
    say,
)
from .peers import Mount
from .servers import ObjectStore, WebDAV

MIB = 1 << 20


@dataclass
class Bound:
    """A measured value, and the most or the least that it may be, if there is a limit."""

    name: str
    value: float
    unit: str
    most: float = None
    least: float = None

    @property
    def is_held(self):
        return (self.most is None or self.value <= self.most) and (
            self.least is None or self.value >= self.least
        )

    def as_json(self):
        return {**asdict(self), "held": self.is_held}


class Source:
    """A directory of this machine as the remote of a mount."""

    def __init__(self, name, folder, port=None):
        self.name, self.folder, self.port = name, folder, port


class Watched(Mount):
    """A mount by Apus whose daemon's options, state and memory a work decides."""

    def __init__(self, apus, source, directory, options=(), soft_files=None):
        self.options, self.soft_files = options, soft_files
        super().__init__(apus, source, source.port, directory)

    def start(self):
        arguments, environment = self.command
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        if self.soft_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.soft_files, before[1]))
        try:
            log = os.path.join(self.directory, "log")
            self.program = Program([*arguments, *self.options], log, environment)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        eventually("the mount", self.patience[0], self.is_mounted, 0.002)

    def again(self):
        """Starts the daemon, and returns the seconds until the root is listed."""
        start = time.monotonic()
        self.start()
        os.listdir(self.point)
        return time.monotonic() - start

    def apus(self, *arguments, limit=600):
        """Runs a command of Apus, and returns its seconds and its output."""
        start = time.monotonic()
        output = run([self.peer.program, *arguments], limit=limit, environment=self.command[1])
        return time.monotonic() - start, output

    def memory(self):
        """The resident memory now, in MiB."""
        with open(f"/proc/{self.program.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


class Load:
    """A run: its directory, its servers, and how large everything is."""

    def __init__(self, scope, apus, scale, limit):
        self.scope, self.apus, self.scale, self.limit = scope, apus, scale, limit
        self.directory = make_directory(scope)
        scope.add(force_unmount, self.directory)
        self.serial = 0

    def run(self, works):
        for work in works:
            try:
                for bound in work().run(self):
                    say(describe(bound))
                    yield bound
            except (Failure, OSError) as failure:
                say(f"bounds: {work.name} failed: {failure}")
                yield Bound(f"{work.name}: failures", 1, str(failure), most=0)

    def path(self, name):
        return os.path.join(self.directory, name)

    def size(self, mebibytes):
        return max(64, int(mebibytes * self.scale))

    def count(self, number):
        return max(10, int(number * self.scale))

    def folder(self, name):
        os.mkdir(self.path(name))
        return Source("folder", self.path(name))

    def webdav(self):
        self.serial += 1
        return WebDAV(self.scope, make(self.path(f"server-{self.serial}")))

    def object_store(self, notified=None):
        self.serial += 1
        return ObjectStore(self.scope, make(self.path(f"server-{self.serial}")), notified)

    def mount(self, source, options=(), soft_files=None):
        self.serial += 1
        mount = Watched(self.apus, source, self.path(f"mount-{self.serial}"), options, soft_files)
        self.scope.add(mount.stop)
        return mount

    @contextlib.contextmanager
    def halted(self, server):
        """Halts the processes of a server, which then accept connections and never answer."""
        os.killpg(server.program.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(server.program.pid, signal.SIGCONT)

    def report(self, mount):
        return json.loads(mount.apus("status", mount.point, "--json")[1])[0]

    def is_reachable(self, mount):
        return self.report(mount)["remote"]["reachable"]

    def counts(self, mount):
        return self.report(mount)["counts"]

    @contextlib.contextmanager
    def another_boot(self):
        """Shows programs the identifier of another start of the machine. Needs root."""
        identifier = "/proc/sys/kernel/random/boot_id"
        with open(self.path("boot_id"), "w") as file:
            file.write("11111111-2222-3333-4444-555555555555\n")
        run(["mount", "--bind", self.path("boot_id"), identifier])
        try:
            yield
        finally:
            run(["umount", identifier])


def describe(bound):
    limit = ""
    if bound.most is not None or bound.least is not None:
        limit = f", at most {bound.most:g}" if bound.most is not None else f", at least {bound.least:g}"
        limit += "" if bound.is_held else "  ✗"
    return f"{bound.name}: {bound.value:,.3g} {bound.unit}{limit}" if bound.value < 1000 else (
        f"{bound.name}: {bound.value:,.0f} {bound.unit}{limit}"
    )


# Steps of works


def make(directory):
    """Makes a directory that servers may enter."""
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    return directory


def starts_after_kills(load, mount, say):
    """Kills the daemon and starts it again, then once more as if the machine had been restarted."""
    mount.end(is_killed=True)
    yield Bound(f"{say}: first ls after kill -9", mount.again(), "s", most=1)
    mount.end(is_killed=True)
    with load.another_boot():
        yield Bound(f"{say}: first ls after a reboot", mount.again(), "s", most=1)
        yield Bound(f"{say}: memory after that", mount.memory_peak(), "MiB", most=150)


def make_empty_files(directory, count, share=None):
    """Makes empty files, if `share` is given that many in each of its directories."""
    below = os.open(directory, os.O_RDONLY)
    for number in range(count):
        if share and number % share == 0:
            os.close(below)
            name = f"{directory}/{number // share:04}"
            os.mkdir(name)
            below = os.open(name, os.O_RDONLY)
        os.close(os.open(f"file {number:07}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=below))
    os.close(below)


def read_whole(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(MIB):
            pass
