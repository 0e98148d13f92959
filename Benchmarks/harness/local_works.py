"""Works that fill a mount: its cache, its descriptors, its directories, what it knows."""

import contextlib
import os
import resource
import threading
import time

from .load import MIB, Bound, Source, make_empty_files, read_whole, starts_after_kills
from .machine import Failure, Program, eventually, run
from .steps import make_file


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


class Pins:
    """Pins more than the cache holds, then files that it holds, and reads far more beside them."""

    name = "pins"

    def run(self, load):
        source, size, files = load.folder("pins"), max(1, int(10 * load.scale)), 100
        os.mkdir(f"{source.folder}/kept")
        for number in range(files):
            make_file(f"{source.folder}/kept/{number}", size)
        others, length = 80, load.size(128)
        for number in range(others):
            make_file(f"{source.folder}/{number}", length)

        mount = load.mount(source, ["--cache-size", f"{max(64, files * size // 2)}MiB"])
        pin = [mount.peer.program, "pin", f"{mount.point}/kept"]
        pinning = Program(pin, load.path("pin.log"), mount.command[1])
        load.scope.add(pinning.stop)
        if not pinning.wait(load.limit):
            raise Failure("a pin without room does not end")
        say = f"{files} pinned files of {size} MiB"
        fetched = allocated(os.path.join(mount.cache, "content")) / MIB
        yield Bound(f"{say}, too many: status of the refusal", pinning.process.returncode, "", 1, 1)
        yield Bound(f"{say}, too many: fetched", fetched, "MiB", most=0)
        mount.stop()

        mount = load.mount(source, ["--cache-size", f"{files * size * 2}MiB"])
        seconds, _ = mount.apus("pin", f"{mount.point}/kept")
        yield Bound(f"{say}: fetched after", seconds, "s")
        with CacheWatch(mount.cache) as watch:
            in_parallel([[f"{mount.point}/{number}" for number in range(others)]])
        pins = load.report(mount)["pins"]
        say += f", after {others * length:,} MiB of others were read"
        yield Bound(f"{say}: files that are not here", pins["filesMissing"], "", most=0)
        yield Bound(f"{say}: most contents", watch.peak / MIB, "MiB", most=files * size * 2 + 64)
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
            yield Bound(title, value * 1000, "ms", most=1000)
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
        title = f"creates: {count:,} beside {uploads} uploads"
        yield Bound(title, rate, "a second", least=alone / 2)
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


WORKS = (Cache, Pins, Opens, Frozen, Creates, Known, Evict, Directory)


# Steps


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
