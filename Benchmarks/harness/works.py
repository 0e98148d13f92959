"""The works of a bench: what a person or a program does in a folder."""

import hashlib
import json
import os
import random
import shutil
import statistics
import sys
import tarfile
import threading
import time

from . import steps
from .machine import Failure, claim_memory, eventually, forget_pages, run

GIB = 1 << 30
MIB = 1 << 20
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


class Session:
    """One program's turn at one work: the folder, and what is measured of the daemon behind it.

    Without a mount the folder is the disk, or the disk behind FUSE alone.
    """

    def __init__(self, bench, system, root, remote=None, mount=None, proxy=None):
        self.bench, self.system, self.root = bench, system, root
        self.remote, self.mount, self.proxy = remote, mount, proxy
        self.sizes = bench.sizes
        self.new = f"new-{bench.serial}"

    @property
    def is_local(self):
        return self.mount is None

    def path(self, name):
        return os.path.join(self.root, name)

    def record(self, figure, value):
        self.bench.results.record(figure, self.system, value)

    def step(self, name, *arguments):
        command = [sys.executable, steps.__file__, name, *map(str, arguments)]
        return json.loads(run(command, self.bench.limit))

    def time(self, *command, environment=None):
        """Runs a command; returns its seconds and its output."""
        start = time.monotonic()
        output = run(list(command), self.bench.limit, environment)
        return time.monotonic() - start, output

    def cost(self):
        """The daemon's processor time and requests so far, once its network is quiet."""
        if self.is_local:
            return 0, 0, 0
        counts = {"requests": 0, "bytes_down": 0}
        if self.proxy:
            counts = self.proxy.wait_until_quiet()
        return self.mount.cpu_seconds(), counts["requests"], counts["bytes_down"]

    def claim_memory(self):
        """Claims memory for the pages of a large file in the mount and in its cache, and as many in reserve."""
        claim_memory(self.bench.path("native"), 3 * self.sizes.large)

    def settle(self):
        if not self.is_local:
            self.mount.peer.settle(self.mount, self.bench.limit)


class Work:
    # Whether it is measured on the disk too.
    is_local = True


class Read(Work):
    """Reads a large file: cold, warm, and warm with the page cache dropped."""

    name, remotes = "read", ("webdav", "s3")

    def run(self, session):
        path = session.path("large")
        if not session.is_local:
            self.run_cold(session, path)
        os.sync()
        session.step("read", path)
        session.record("read-warm", self.rate(session.step("read", path)))
        forget_pages(path)
        forget_pages(session.bench.path("native") if session.is_local else session.mount.cache)
        session.record("read-dropped", self.rate(session.step("read", path)))

    def run_cold(self, session, path):
        cpu, requests, _ = session.cost()
        session.claim_memory()
        result = session.step("read", path)
        session.record("first-byte", result["first"] * 1000)
        session.record("read-cold", self.rate(result))
        cpu_after, requests_after, _ = session.cost()
        session.record("read-cpu", (cpu_after - cpu) * GIB / result["bytes"])
        session.record("read-requests", requests_after - requests)

    def rate(self, result):
        return result["bytes"] / MIB / result["seconds"]


class Random(Work):
    """Reads a few blocks of a huge file."""

    name, remotes, is_local = "random", ("webdav", "s3"), False

    def run(self, session):
        _, requests, down = session.cost()
        result = session.step("read_randomly", session.path("huge"), session.sizes.reads)
        session.record("random-time", statistics.median(result["times"]) * 1000)
        session.record("random-total", sum(result["times"]))
        # With what a read-ahead still fetches.
        _, requests_after, down_after = session.cost()
        session.record("random-bytes", (down_after - down) / MIB)
        session.record("random-requests", requests_after - requests)


class Find(Work):
    """Walks a tree and looks at each file's size; the mount shows the files' own times."""

    name, remotes, times = "find", ("webdav", "s3"), "file"

    def run(self, session):
        thousands = session.sizes.files / 1000
        if not session.is_local:
            cpu, requests, _ = session.cost()
            session.record("find-cold", self.walk(session))
            cpu_after, requests_after, _ = session.cost()
            session.record("find-cpu", (cpu_after - cpu) * 1000 / thousands)
            session.record("find-requests", requests_after - requests)
        else:
            self.walk(session)
        cpu, requests, _ = session.cost()
        session.record("find-warm", statistics.median(self.walk(session) for _ in range(3)) * 1000)
        if not session.is_local:
            cpu_after, requests_after, _ = session.cost()
            session.record("find-warm-cpu", (cpu_after - cpu) * 1000 / thousands / 3)
            session.record("find-warm-requests", (requests_after - requests) / 3)

    def walk(self, session):
        seconds, output = session.time("find", session.path("tree"), "-type", "f", "-size", "+0")
        if output.count("\n") != session.sizes.files:
            raise Failure(f"find shows {output.count(chr(10))} of {session.sizes.files} files")
        return seconds


class FindStoreTimes(Find):
    """The same with the times of the store, which its listings have."""

    name, remotes, times, is_local = "find-store-times", ("s3",), "store", False

    def run(self, session):
        session.record("find-store-times", self.walk(session))


class Small(Work):
    """Makes small files, and waits until the remote has them."""

    name, remotes = "small", ("webdav", "s3")

    def run(self, session):
        count = session.sizes.small
        cpu, requests, _ = session.cost()
        result = session.step("create", session.path(session.new), count)
        session.record("small-local", count / result["seconds"])
        if session.is_local:
            return
        expected = {str(number): 10240 for number in range(count)}
        end = eventually(
            "the upload",
            session.bench.limit,
            lambda: session.remote.sizes(session.new) == expected,
            0.02,
        )
        session.record("small-remote", end - result["start"])
        self.check(session, count)
        session.settle()
        cpu_after, requests_after, _ = session.cost()
        session.record("small-cpu", (cpu_after - cpu) * 1e6 / count)
        session.record("small-requests", requests_after - requests)

    def check(self, session, count):
        for number in (0, count // 2, count - 1):
            expected = hashlib.md5(steps.small_bytes(number)).hexdigest()
            if session.remote.digest(f"{session.new}/{number}") != expected:
                raise Failure(f"the remote has other bytes in new file {number}")


class Write(Work):
    """Writes a large file, and waits until the remote has it."""

    name, remotes = "write", ("webdav", "s3")

    def run(self, session):
        size = session.sizes.large * MIB
        source, path = session.bench.path("native/large"), session.path(f"{session.new}/file")
        cpu, requests, _ = session.cost()
        session.claim_memory()
        with UploadWatch(session.proxy) as watch:
            result = session.step("write", source, path)
            session.record("write-local", size / MIB / result["seconds"])
            if session.is_local:
                return
            end = eventually(
                "the upload",
                session.bench.limit,
                lambda: session.remote.sizes(session.new).get("file") == size,
                0.02,
            )
        session.record("write-remote", end - result["start"])
        session.record("write-upload", size / MIB / (end - watch.start))
        session.settle()
        cpu_after, requests_after, _ = session.cost()
        session.record("write-cpu", (cpu_after - cpu) * GIB / size)
        session.record("write-requests", requests_after - requests)
        if session.remote.digest(f"{session.new}/file") != session.bench.digest("large"):
            raise Failure("the remote has other bytes in the written file")


class UploadWatch:
    """Notes when a body began to be sent: the last look at which nothing had been."""

    enough = 256 << 10

    def __init__(self, proxy):
        self.proxy, self.start, self.is_over = proxy, time.monotonic(), False

    def __enter__(self):
        if self.proxy:
            self.before = self.proxy.counts()["bytes_up"]
            self.thread = threading.Thread(target=self.watch)
            self.thread.start()
        return self

    def watch(self):
        while not self.is_over:
            now = time.monotonic()
            if self.proxy.counts()["bytes_up"] - self.before > self.enough:
                return
            self.start = now
            time.sleep(0.01)

    def __exit__(self, *_):
        self.is_over = True
        if self.proxy:
            self.thread.join()


class Git(Work):
    """Clones a repository, and asks for its status."""

    name, remotes = "git", ("webdav", "s3")

    def run(self, session):
        source, clone = f"file://{session.bench.path('repository')}", session.path(session.new)
        _, requests, _ = session.cost()
        seconds, _ = session.time("git", "clone", "--quiet", source, clone, environment=GIT)
        session.record("clone", seconds)
        session.settle()
        _, requests_after, _ = session.cost()
        if not session.is_local:
            session.record("clone-requests", requests_after - requests)
        self.status(session, clone)  # It writes the index anew.
        session.settle()
        session.record(
            "status", statistics.median(self.status(session, clone) for _ in range(3)) * 1000
        )

    def status(self, session, clone):
        seconds, output = session.time("git", "-C", clone, "status", "--porcelain", environment=GIT)
        if output:
            raise Failure(f"git sees changes in a new clone: {output.splitlines()[0]}")
        return seconds


class Tar(Work):
    """Unpacks many small files on a folder as a remote, and removes more."""

    name, remotes = "tar", ("folder",)

    def run(self, session):
        archive, thousands = session.bench.path("archive.tar"), session.sizes.untarred / 1000
        os.mkdir(session.path(session.new))
        cpu, _, _ = session.cost()
        start = time.monotonic()
        seconds, _ = session.time("tar", "-xf", archive, "-C", session.path(session.new))
        session.record("tar-local", seconds)
        session.settle()
        session.record("tar-remote", time.monotonic() - start)
        if not session.is_local:
            session.record("tar-cpu", (session.cost()[0] - cpu) * 1000 / thousands)


class Remove(Work):
    """Removes a tree that the remote has had before."""

    name, remotes = "remove", ("folder",)

    def prepare(self, root, sizes):
        make_tree(os.path.join(root, "old"), sizes.removed, sizes.removed // 100)

    def run(self, session):
        thousands = session.sizes.removed / 1000
        session.time("find", session.path("old"), "-size", "+0")
        cpu, _, _ = session.cost()
        seconds, _ = session.time("rm", "-rf", session.path("old"))
        session.record("remove", seconds)
        if not session.is_local:
            session.record("remove-cpu", (session.cost()[0] - cpu) * 1000 / thousands)


class Start(Work):
    """Starts with a state that holds files, after an end in order and after `kill -9`."""

    name, remotes, is_local = "start", ("folder",), False

    def prepare(self, root, sizes):
        make_tree(os.path.join(root, "old"), sizes.started, sizes.started // 100)

    def run(self, session):
        session.time("find", session.path("old"), "-size", "+0")
        # Not to /dev/null, for which tar would not read them.
        copy = os.path.join(session.mount.directory, "copy.tar")
        session.time("tar", "-cf", copy, "-C", session.path("old"), ".")
        session.settle()
        for figure, is_killed in (("start-ended", False), ("start-killed", True)):
            session.mount.end(is_killed)
            start = time.monotonic()
            session.mount.start()
            session.time("ls", session.root)
            session.record(figure, (time.monotonic() - start) * 1000)


WORKS = {
    work.name: work
    for work in (
        Read(),
        Random(),
        Find(),
        FindStoreTimes(),
        Small(),
        Write(),
        Git(),
        Tar(),
        Remove(),
        Start(),
    )
}


# What the works find on the remote, or put there


def make_tree(top, files, directories):
    """Files of some hundred bytes, evenly in directories."""
    for directory in range(directories):
        os.makedirs(f"{top}/{directory}")
    for index in range(files):
        with open(f"{top}/{index % directories}/{index}", "w") as file:
            file.write(f"{index}\n" * 50)


def make_repository(path, files):
    """A repository with files of 1 to 8 KiB in 20 directories, and one commit."""
    chosen = random.Random(1000)
    os.makedirs(path)
    for index in range(files):
        directory = f"{path}/directory {index % 20}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/{index}.txt", "w") as file:
            file.write("".join(f"{chosen.random()}\n" for _ in range(chosen.randrange(50, 400))))
    who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        [*who, "commit", "-q", "-m", "All"],
        ["gc", "-q"],
    ):
        run(["git", "-C", path, *arguments], environment=GIT)


def make_archive(path, files):
    """An archive of files of 4 KiB, 100 in a directory."""
    folder = path + ".d"
    for index in range(files):
        directory = f"{folder}/{index // 100}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/{index}", "wb") as file:
            file.write(random.Random(index).randbytes(4096))
    with tarfile.open(path, "w") as archive:
        archive.add(folder, ".")
    shutil.rmtree(folder)
