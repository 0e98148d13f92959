"""Works whose server does not answer, comes back, or is changed by others."""

import os
import shutil
import threading
import time

from .load import Bound, make, make_empty_files, read_whole, starts_after_kills
from .machine import Failure, Program, eventually, forget_pages, free_ports, run
from .steps import make_file


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


class Offline:
    """Takes the server away, mounts without it, changes files, and brings the server back."""

    name = "offline"
    away_seconds = 60

    def run(self, load):
        server = load.webdav()
        seed = load.path("seed")
        os.makedirs(f"{seed}/offline")
        for number in range(100):
            make_file(f"{seed}/offline/{number}", 1)
        server.seed(seed)
        mount = load.mount(server)
        read_whole(f"{mount.point}/offline/1")
        os.listdir(f"{mount.point}/offline")
        ways = (("refuses", server.stopped), ("is silent", lambda: load.halted(server)))
        for turn, (way, away) in enumerate(ways):
            say = f"server that {way}"
            with away():
                mount.apus("unmount", "--now", mount.point)
                mount.end()
                yield Bound(f"{say}: mount and first ls", mount.again(), "s", most=1)
                yield from self.work(f"{mount.point}/offline", turn, say)
                gone = lambda: not load.is_reachable(mount)
                eventually("the news that the server is gone", 60, gone, 0.1)
                time.sleep(self.away_seconds * min(1, load.scale * 4))
            back = time.monotonic()
            sent = lambda: self.is_sent(server)
            resumed = eventually(f"the uploads after a server that {way}", 60, sent)
            yield Bound(f"{say}: all is there after its return", resumed - back, "s", most=5)
            mount.peer.settle(mount, load.limit)
        mount.stop()

    def work(self, folder, turn, say):
        start = time.monotonic()
        read_whole(f"{folder}/1")
        yield Bound(f"{say}: a local file read", (time.monotonic() - start) * 1000, "ms", most=100)
        start = time.monotonic()
        self.sizes = {f"new {turn}": 2, "1": 3 + turn}
        for name, mebibytes in self.sizes.items():
            make_file(f"{folder}/{name}", mebibytes)
        self.removed = f"{turn + 10}"
        os.remove(f"{folder}/{self.removed}")
        seconds = time.monotonic() - start
        yield Bound(f"{say}: files made, changed, removed", seconds * 1000, "ms", most=1000)

    def is_sent(self, server):
        sizes = server.sizes("offline")
        return self.removed not in sizes and all(
            sizes.get(name) == mebibytes << 20 for name, mebibytes in self.sizes.items()
        )


class Others:
    """Lets another client make, change and remove a file, until a program sees it here."""

    name = "others"
    turns = 10

    def run(self, load):
        folder = load.folder("others")
        top = make(f"{folder.folder}/d")
        yield from self.watch(load.mount(folder), top, "folder", 0.5)

        server = load.webdav()
        top = make(f"{server.folder}/d")
        mount = load.mount(server, ["--refresh", "2s"])
        yield from self.watch(mount, top, "WebDAV, --refresh 2s", 3)

        secret, port = load.path("secret"), free_ports(1)[0]
        write(secret, b"0123456789abcdef0123456789abcdef", 0o600)
        store = load.object_store((f"http://127.0.0.1:{port}/notifications", secret))
        store.put("d/first", b"1")
        mount = load.mount(store, ["--webhook", f"127.0.0.1:{port}", "--webhook-token-file", secret])
        # The first notification, from which on directories are followed: that of a file of our own.
        write(f"{mount.point}/own", b"1")
        mount.peer.settle(mount, load.limit)
        yield from self.watch(mount, store, "S3, notifications", 0.5)

    def watch(self, mount, remote, say, limit):
        """`remote` is a server, or the directory that it shows."""

        def put(name, data):
            write(f"{remote}/{name}", data) if isinstance(remote, str) else remote.put(f"d/{name}", data)

        os.listdir(f"{mount.point}/d")
        longest = {"new file": 0, "change": 0, "removal": 0}
        for turn in range(self.turns):
            path = f"{mount.point}/d/{turn}"
            if os.path.exists(path):
                raise Failure(f"{path} is there too early")
            for step, data in (("new file", b"1"), ("change", b"22"), ("removal", None)):
                start = time.monotonic()
                put(f"{turn}", data)
                seen = eventually(f"a {step} by another client", 60, lambda: content(path) == data)
                longest[step] = max(longest[step], seen - start)
        for step, seconds in longest.items():
            title = f"{say}: a {step} by another client, the longest of {self.turns}"
            yield Bound(title, seconds, "s", most=limit)
        mount.stop()


class Idle:
    """Leaves a mount with many known directories alone."""

    name = "idle"
    quiet_seconds = 600

    def run(self, load):
        count = load.count(10_000)
        server, folder = load.webdav(), load.folder("idle")
        for source in (folder, server):
            for number in range(count):
                os.mkdir(f"{source.folder}/{number}")
                write(f"{source.folder}/{number}/file", b"1")
        run(["chmod", "-R", "a+rwX", server.folder])
        mounts = [load.mount(folder), load.mount(server)]
        for mount in mounts:
            if run(["find", mount.point, "-name", "file"]).count("\n") != count:
                raise Failure("a find lacks names")
        quiet = self.quiet_seconds * min(1, load.scale * 4)
        before = [mount.cpu_seconds() for mount in mounts]
        time.sleep(quiet)
        for mount, cpu, name in zip(mounts, before, ("folder", "WebDAV")):
            say = f"{count:,} known directories, {name}"
            share = (mount.cpu_seconds() - cpu) / quiet * 100
            yield Bound(f"{say}: CPU of {quiet:.0f} idle s", share, "% of a core", most=5)
            yield Bound(f"{say}: the largest memory", mount.memory_peak(), "MiB", most=100)
            mount.stop()


class Scans:
    """Has a maker of thumbnails read the beginning of each file of a folder, and grep all of them."""

    name = "scans"

    def run(self, load):
        server, count = load.webdav(), load.count(1000)
        os.makedirs(f"{server.folder}/scans")
        for number in range(count):
            make_file(f"{server.folder}/scans/{number}", 2)
        run(["chmod", "-R", "a+rwX", f"{server.folder}/scans"])
        mount = load.mount(server)
        top = f"{mount.point}/scans"
        scanner = shutil.copy(shutil.which("head"), load.path("tumblerd"))
        say = f"{count} files of 2 MiB"

        def received():
            return load.report(mount)["traffic"]["received"]

        before = received()
        run(["sh", "-c", '"$0" -c 65536 "$1"/* >/dev/null', scanner, top])
        fetched = (received() - before) / count / 1024
        yield Bound(f"{say}, 64 KiB of each read for a thumbnail: fetched", fetched, "KiB", most=64)
        before = received()
        run(["grep", "-rcv", "pattern", top])
        yield Bound(f"{say}, searched by grep: fetched", (received() - before) / 1024**2, "MiB")
        mount.stop()


WORKS = (Dead, Pending, Gone, Offline, Others, Idle, Scans)


# Steps


def write(path, data, mode=0o666):
    """Replaces a file as careful programs do, or removes it if the data are None."""
    if data is None:
        return os.remove(path)
    descriptor = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.rename(f"{path}.part", path)


def content(path):
    """The bytes of a file; None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def read_quietly(path):
    """Reads a file, and returns whether that failed."""
    try:
        read_whole(path)
    except OSError:
        return True
    return False
