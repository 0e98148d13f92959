"""The bounds that a mount keeps under load: works that fill it, open it, and take its server away.

Each work yields `Bound`s. Sizes are those of the promises; `scale` makes them smaller for a trial.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import threading
import time
from dataclasses import asdict, dataclass

from .machine import (
    Failure,
    Program,
    eventually,
    force_unmount,
    forget_pages,
    make_directory,
    run,
    say,
)
from .peers import Mount
from .servers import WebDAV
from .steps import make_file

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


class CacheWatch(threading.Thread):
    """Samples the bytes that local contents take on the disk, every 100 ms."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.peak, self.is_over = directory, 0, threading.Event()

    def run(self):
        while not self.is_over.wait(0.1):
            self.peak = max(self.peak, allocated(os.path.join(self.directory, "content")))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()


def allocated(directory):
    """The bytes on the disk of the files below a directory, without those that vanish meanwhile."""
    total = 0
    for top, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(top, name)).st_blocks * 512
    return total


class Load:
    """A run: its directory, its servers, and how large everything is."""

    def __init__(self, scope, apus, scale, limit):
        self.scope, self.apus, self.scale, self.limit = scope, apus, scale, limit
        self.directory = make_directory(scope)
        scope.add(force_unmount, self.directory)
        self.serial = 0

    def run(self, names):
        for name in names:
            try:
                for bound in WORKS[name]().run(self):
                    say(describe(bound))
                    yield bound
            except Failure as failure:
                say(f"bounds: {name} failed: {failure}")
                yield Bound(f"{name}: failures", 1, str(failure), most=0)

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
        return WebDAV(self.scope, self.directory)

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


# The works


class Cache:
    """Reads more than the cache holds with four readers, then one file larger than it, with four too."""

    name = "cache"

    def run(self, load):
        source = load.folder("cache")
        small, files = load.size(128), 80
        for number in range(files):
            make_file(f"{source.folder}/{number:02}", small)
        make_file(f"{source.folder}/large", load.size(4096))
        limit = load.size(1024)
        works = (("of a tree", [f"{number:02}" for number in range(files)], files * small),
                 ("of one file", ["large"] * 4, 4 * load.size(4096)))
        for bound in (f"{limit}MiB", "64GiB"):
            for title, names, size in works:
                mount = load.mount(source, ["--cache-size", bound])
                paths = [f"{mount.point}/{name}" for name in names]
                with CacheWatch(mount.cache) as watch:
                    rate = size / in_parallel([paths[first::4] for first in range(4)])
                title = f"cache of {bound}, four readers {title}"
                yield Bound(title, rate, "MiB/s")
                if bound == f"{limit}MiB":
                    yield Bound(f"{title}: most contents", watch.peak / MIB, "MiB", limit + 64)
                mount.stop()


class Opens:
    """Opens 10,000 files at once under a soft limit of 1,024 descriptors."""

    name = "opens"

    def run(self, load):
        source, count = load.folder("opens"), load.count(10_000)
        for number in range(count):
            with open(f"{source.folder}/{number}", "w") as file:
                file.write(f"{number}\n")
        mount = load.mount(source, soft_files=1024)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 256), hard))
        opened, longest = [], 0
        try:
            for number in range(count):
                start = time.monotonic()
                opened.append(os.open(f"{mount.point}/{number}", os.O_RDONLY))
                longest = max(longest, time.monotonic() - start)
            for number in (0, count // 2, count - 1):
                if os.pread(opened[number], 64, 0) != f"{number}\n".encode():
                    raise Failure(f"wrong bytes in file {number}")
        finally:
            for descriptor in opened:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield Bound(f"opens: {count:,} at once, the longest", longest * 1000, "ms", most=1000)
        mount.stop()


class Dead:
    """Stops the server, lets 300 reads wait for it, and reads and lists what is here."""

    name = "dead"

    def run(self, load):
        server = load.webdav()
        count = load.count(300)
        os.makedirs(f"{server.folder}/dead/cold")
        for number in range(count + 1):
            make_file(f"{server.folder}/dead/cold/{number}", 2)
        make_file(f"{server.folder}/dead/warm", 1)
        # Asked for by no program before: the daemon has to look them up.
        for number in range(1000):
            make_file(f"{server.folder}/dead/{number}", 0)
        run(["chmod", "-R", "a+rwX", f"{server.folder}/dead"])
        mount = load.mount(server)
        top = f"{mount.point}/dead"
        read_whole(f"{top}/warm")
        for directory in (top, f"{top}/cold"):
            os.listdir(directory)
        names = iter(range(1000))

        def read():
            # This synchronises the file, which takes as long as the disk does.
            forget_pages(f"{top}/warm")
            start = time.monotonic()
            read_whole(f"{top}/warm")
            return time.monotonic() - start

        def look():
            start = time.monotonic()
            os.listdir(top)
            os.stat(f"{top}/{next(names)}")
            return time.monotonic() - start

        with load.halted(server):
            paths = [f"{top}/cold/{number}" for number in range(count)]
            readers = [threading.Thread(target=read_quietly, args=(path,)) for path in paths]
            for reader in readers:
                reader.daemon = True
                reader.start()
            looks = {"read": read, "list": look}
            worst = {"read": 0, "list": 0}
            end = time.monotonic() + 20
            while time.monotonic() < end and any(reader.is_alive() for reader in readers):
                for name, look in looks.items():
                    worst[name] = max(worst[name], look())
                time.sleep(0.05)
            for name, title in (("read", "a cached file read"), ("list", "a known folder listed")):
                title = f"dead server, {count} reads wait: {title}"
                yield Bound(title, worst[name] * 1000, "ms", most=100)
            for reader in readers:
                reader.join(120)
            is_known = lambda: not load.is_reachable(mount)
            eventually("the news that the server is gone", 60, is_known, 0.1)
            start = time.monotonic()
            failed = read_quietly(f"{top}/cold/{count}")
            if not failed:
                raise Failure("a cold read of a dead server did not fail")
            yield Bound("dead server: a cold read fails after", time.monotonic() - start, "s", most=2)
        mount.stop()


class Frozen:
    """Writes to and reads from a large file that is open while it is uploaded."""

    name = "frozen"

    def run(self, load):
        size = load.size(4096)
        source = load.folder("frozen")
        mount = load.mount(Source("folder", f"{source.folder}?rate={max(32, size // 20)}MiB"))
        path, chunk = f"{mount.point}/file", os.urandom(MIB)
        with open(path, "wb", buffering=0) as file:
            for _ in range(size):
                file.write(chunk)
        descriptor = os.open(path, os.O_RDWR)
        # It would wait for a pause of its writers otherwise.
        sync = Program([mount.peer.program, "sync", mount.point], load.path("sync.log"))
        load.scope.add(sync.stop)
        uploads = self.uploads
        eventually("the start of the upload", load.limit, lambda: uploads(load, mount) > 0, 0.1)
        longest = {"write": 0, "read": 0}
        position, count = 0, 0
        end = time.monotonic() + load.limit
        while count % 200 or uploads(load, mount) > 0:
            if time.monotonic() > end:
                raise Failure(f"the upload took longer than {load.limit} s")
            count += 1
            position = (position + 997 * MIB) % (size * MIB)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            for name, act in (
                ("write", lambda: os.pwrite(descriptor, chunk[:4096], position)),
                ("read", lambda: os.pread(descriptor, 4096, (position + 511 * MIB) % (size * MIB))),
            ):
                start = time.monotonic()
                act()
                longest[name] = max(longest[name], time.monotonic() - start)
            time.sleep(0.005)
        os.close(descriptor)
        for name, value in longest.items():
            title = f"upload of {size} MiB, open and written {count} times: the longest {name}"
            yield Bound(title, value * 1000, "ms")
        mount.stop()

    def uploads(self, load, mount):
        return load.counts(mount)["uploading"]


class Creates:
    """Makes files in one thread while others are uploaded."""

    name = "creates"

    def run(self, load):
        count, uploads = load.count(2000), 200
        # As slow as to last longer than the creates.
        source = load.folder("creates")
        mount = load.mount(Source("folder", f"{source.folder}?rate=16MiB"))
        os.mkdir(f"{mount.point}/busy")
        data = os.urandom(MIB)
        for number in range(uploads):
            with open(f"{mount.point}/busy/{number}", "wb") as file:
                file.write(data)
        sent = load.path("creates/busy")
        eventually("the first uploads", 60, lambda: os.path.isdir(sent) and os.listdir(sent), 0.01)
        rate = self.create(f"{mount.point}/new", count)
        if len(os.listdir(sent)) == uploads:
            raise Failure("the uploads ended before the creates")
        run([mount.peer.program, "sync", mount.point])
        alone = self.create(f"{mount.point}/again", count)
        yield Bound(f"creates: {count:,} beside {uploads} uploads", rate, "a second")
        yield Bound("creates: without other uploads", alone, "a second")
        yield Bound("creates: native", self.create(load.path("native-creates"), count), "a second")
        run([mount.peer.program, "sync", mount.point])
        mount.stop()

    def create(self, directory, count):
        os.mkdir(directory)
        start = time.monotonic()
        for number in range(count):
            os.close(os.open(f"{directory}/{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        return count / (time.monotonic() - start)


class Known:
    """Starts with many known files, and asks for what concerns all of them."""

    name = "known"

    def run(self, load):
        source, count = load.folder("known"), load.count(1_000_000)
        make_empty_files(source.folder, count, 1000)
        mount = load.mount(source)
        start, cpu = time.monotonic(), mount.cpu_seconds()
        found = run(["find", mount.point, "-type", "f", "-size", "-1"], limit=load.limit * 4).count("\n")
        if found != count:
            raise Failure(f"find shows {found} of {count} files")
        say = f"{count:,} known files"
        yield Bound(f"{say}: the first find", time.monotonic() - start, "s")
        yield Bound(f"{say}: CPU of it for each file", (mount.cpu_seconds() - cpu) * 1e6 / count, "µs")
        yield Bound(f"{say}: the largest memory", mount.memory_peak(), "MiB", most=150)
        yield Bound(f"{say}: status", mount.apus("status", mount.point)[0], "s", most=1)
        yield Bound(f"{say}: sync with nothing to do", mount.apus("sync", mount.point)[0], "s", most=1)
        yield Bound(f"{say}: evict of the root", mount.apus("evict", mount.point)[0], "s", most=1)
        mount.end()
        yield Bound(f"{say}: first ls after an orderly end", mount.again(), "s", most=1)
        yield from starts_after_kills(load, mount, say)
        mount.stop()


class Evict:
    """Evicts the root with many local files."""

    name = "evict"

    def run(self, load):
        source, count = load.folder("evict"), load.count(100_000)
        for number in range(count):
            directory = f"{source.folder}/{number // 1000:04}"
            if number % 1000 == 0:
                os.mkdir(directory)
            with open(f"{directory}/{number}", "w") as file:
                file.write(f"{number}\n")
        mount = load.mount(source)
        for directory in sorted(os.listdir(mount.point)):
            for name in os.listdir(f"{mount.point}/{directory}"):
                read_whole(f"{mount.point}/{directory}/{name}")
        yield Bound(f"evict of the root with {count:,} local files", mount.apus("evict", mount.point)[0], "s", most=1)
        left = allocated(os.path.join(mount.cache, "content"))
        yield Bound("bytes of contents left by it", left / MIB, "MiB")
        mount.stop()


class Directory:
    """Lists a large directory twice, and watches the daemon afterwards."""

    name = "directory"
    quiet_seconds = 300

    def run(self, load):
        for count in (load.count(200_000), load.count(1_000_000)):
            source = load.folder(f"directory-{count}")
            os.mkdir(f"{source.folder}/d")
            make_empty_files(f"{source.folder}/d", count)
            mount = load.mount(source)
            say = f"directory of {count:,}"
            for turn, limit in (("first", 15), ("second", None)):
                start, cpu = time.monotonic(), mount.cpu_seconds()
                found = len(os.listdir(f"{mount.point}/d"))
                if found != count:
                    raise Failure(f"a listing shows {found} of {count} names")
                yield Bound(f"{say}: {turn} listing", time.monotonic() - start, "s")
                used = (mount.cpu_seconds() - cpu) * 1e6 / count
                yield Bound(f"{say}: CPU of it for each entry", used, "µs", most=limit)
            cpu, quiet = mount.cpu_seconds(), self.quiet_seconds * min(1, load.scale * 4)
            time.sleep(quiet)
            share = (mount.cpu_seconds() - cpu) / quiet * 100
            yield Bound(f"{say}: CPU of the next {quiet:.0f} s", share, "% of a core", most=5)
            yield Bound(f"{say}: the largest memory", mount.memory_peak(), "MiB", most=100)
            mount.stop()


class Gone:
    """Removes all names of a large directory on the remote, and lists it again.

    Their deletions are held, as so many are at once, and then confirmed.
    """

    name = "gone"

    def run(self, load):
        source, count = load.folder("gone"), load.count(1_000_000)
        os.mkdir(f"{source.folder}/d")
        make_empty_files(f"{source.folder}/d", count)
        mount = load.mount(source)
        if len(os.listdir(f"{mount.point}/d")) != count:
            raise Failure("a listing lacks names")
        mount.end()
        for entry in os.scandir(f"{source.folder}/d"):
            os.unlink(entry.path)
        mount.again()
        say = f"{count:,} names gone from a directory"
        refresh = ("refresh", f"{mount.point}/d")
        yield from self.beside(load, mount, refresh, f"{say}: recording")
        if (held := load.counts(mount)["held"]["items"]) != count:
            raise Failure(f"{held} of {count} deletions are held")
        confirm = ("confirm-deletions", mount.point)
        yield from self.beside(load, mount, confirm, f"{say}: confirming")
        seconds, _ = mount.apus("sync", mount.point, limit=load.limit * 2)
        yield Bound(f"{say}: applying", seconds, "s")
        if os.listdir(f"{mount.point}/d"):
            raise Failure("names are left")
        yield Bound(f"{say}: the largest memory", mount.memory_peak(), "MiB", most=100)
        mount.stop()

    def beside(self, load, mount, command, say):
        """Runs a command of Apus, and makes directories meanwhile."""
        longest, number = 0, 0
        start = time.monotonic()
        program = Program([mount.peer.program, *command], load.path("command.log"), mount.command[1])
        load.scope.add(program.stop)
        while program.is_running:
            before = time.monotonic()
            os.mkdir(f"{mount.point}/{command[0]}-{number}")
            longest = max(longest, time.monotonic() - before)
            number += 1
            time.sleep(0.01)
        yield Bound(say, time.monotonic() - start, "s")
        yield Bound(f"{say}: the longest mkdir beside it", longest * 1000, "ms", most=1000)
        yield Bound(f"{say}: the largest memory until then", mount.memory_peak(), "MiB", most=100)


class Pending:
    """Starts with many files that no server has."""

    name = "pending"

    def run(self, load):
        server, count = load.webdav(), load.count(100_000)
        mount = load.mount(server)
        os.listdir(mount.point)
        # A power cut may take the files of the last seconds that no program has synchronised.
        synchronised = range(0, count, max(1, count // 100))
        with load.halted(server):
            for number in range(count):
                if number % 1000 == 0:
                    os.mkdir(f"{mount.point}/{number // 1000}")
                with open(f"{mount.point}/{number // 1000}/{number}", "w") as file:
                    file.write(f"{number}\n")
                    if number in synchronised:
                        file.flush()
                        os.fsync(file.fileno())
            say = f"{count:,} files to upload"
            yield Bound(f"{say}: status", mount.apus("status", mount.point)[0], "s", most=1)
            yield from starts_after_kills(load, mount, say)
            for number in synchronised:
                with open(f"{mount.point}/{number // 1000}/{number}") as file:
                    if file.read() != f"{number}\n":
                        raise Failure(f"file {number} has other bytes")
            mount.end(is_killed=True)


WORKS = {work.name: work for work in (
    Cache, Opens, Dead, Frozen, Creates, Known, Pending, Evict, Directory, Gone,
)}


# Steps


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


def read_quietly(path):
    """Reads a file, and returns whether that failed."""
    try:
        read_whole(path)
    except OSError:
        return True
    return False


def in_parallel(lists):
    """Reads lists of files, a thread for each list, and returns the seconds."""

    def read_all(paths):
        for path in paths:
            read_whole(path)

    start = time.monotonic()
    threads = [threading.Thread(target=read_all, args=(paths,)) for paths in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - start
