"""The programs that are compared, each with its documentation's advice for speed, and FUSE alone."""

import json
import os
import re
import shutil

from .machine import (
    Failure,
    Program,
    cpu_seconds,
    eventually,
    force_unmount,
    free_ports,
    memory_peak,
    mounts_below,
    remove_tree,
    run,
)
from .servers import c_compiler, tool


class Mount:
    """A remote shown as a folder by one program, with an empty cache, until `stop`."""

    # Seconds for its start, and for its end before it is killed.
    patience = (60, 10)

    def __init__(self, peer, remote, port, directory, work=None):
        # Of the files that it shows: "file" for their own, "store" for those of S3's listings; None
        # for those of the program's advice.
        self.times = getattr(work, "times", None)
        self.peer, self.point = peer, os.path.join(directory, "mount")
        self.cache = os.path.join(directory, "cache")
        self.directory = directory
        for path in (self.point, self.cache):
            os.makedirs(path, 0o700)
        self.program = None
        try:
            self.command = peer.command(self, remote, port)
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        arguments, environment = self.command
        self.program = Program(arguments, os.path.join(self.directory, "log"), environment)
        what = f"the mount by {self.peer.name}"
        eventually(what, self.patience[0], self.is_mounted, 0.002)

    def end(self, is_killed=False):
        """Ends the daemon, as a crash does or in order, and keeps its state."""
        if is_killed:
            self.program.kill()
        else:
            self.program.stop(self.patience[1])
        force_unmount(self.directory)

    def is_mounted(self):
        if not self.program.is_running:
            raise Failure(f"{self.peer.name} ended: {self.program.last_words()}")
        return self.point in mounts_below(self.point)

    def cpu_seconds(self):
        return cpu_seconds(self.program.pid)

    def memory_peak(self):
        return memory_peak(self.program.pid)

    def stop(self):
        """Takes the mount away, with its daemon and its cache, also if the daemon hangs."""
        if self.program:
            self.program.stop(self.patience[1])
        force_unmount(self.directory)
        remove_tree(self.directory)


class Apus:
    """Apus as it is installed, without options."""

    remotes, has_store_times = ("webdav", "s3", "folder"), True

    def __init__(self, program, name="apus"):
        self.program, self.name = os.path.abspath(program), name

    def version(self):
        if not os.access(self.program, os.X_OK):
            raise Failure(f"there is no {self.program}; run `make build`")
        return run([self.program, "--version"]).strip()

    def command(self, mount, remote, port):
        environment = {"HOME": mount.directory}
        if remote.name == "webdav":
            source = f"webdav+http://127.0.0.1:{port}/"
        elif remote.name == "s3":
            source = f"s3://{remote.bucket}/?endpoint=http://127.0.0.1:{port}&region=us-east-1"
            if mount.times == "store":
                source += "&metadata=listing"
            environment |= remote.environment
        else:
            source = f"folder:{remote.folder}"
        arguments = [self.program, "mount", source, mount.point]
        return [*arguments, "--state-dir", mount.cache, "--foreground"], environment

    def settle(self, mount, seconds):
        """Waits until everything is on the remote."""
        run([self.program, "sync", mount.point], limit=seconds)


class FuseAlone:
    """The example of libfuse that passes each call on to a directory, and keeps nothing.

    So it shows the least that a file system in user space costs on this machine. The kernel may keep
    names, attributes and pages for ever, and checks permissions itself, as for Apus.
    """

    name, remotes = "FUSE alone", ()
    source = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c"

    def version(self):
        if not shutil.which("pkg-config"):
            raise Failure("there is no pkg-config")
        return run(["pkg-config", "--modversion", "fuse3"]).strip()

    def build(self, directory):
        if not os.path.exists(self.source):
            raise Failure(f"there is no {self.source}, which libfuse3-dev brings on Debian")
        self.program = os.path.join(directory, "fuse-alone")
        flags = run(["pkg-config", "--cflags", "--libs", "fuse3"]).split()
        # It includes headers of libfuse by their bare names.
        flags += [f"-I{flag[2:]}/fuse3" for flag in flags if flag.startswith("-I")]
        run([c_compiler(), "-O2", "-w", "-o", self.program, self.source, *flags])

    def start(self, scope, directory, point):
        """Mounts a directory at a place until the scope ends."""
        os.mkdir(point)
        options = f"source={directory},cache=always,timeout=86400,default_permissions"
        # It keeps a descriptor for each known item.
        arguments = ["sh", "-c", 'ulimit -n $(ulimit -Hn); exec "$@"', "sh"]
        arguments += [self.program, "-f", "-o", options, point]
        scope.add(os.rmdir, point)
        scope.add(force_unmount, point)
        program = Program(arguments, point + ".log")
        scope.add(program.stop)

        def is_mounted():
            if not program.is_running:
                raise Failure(f"{self.name} ended: {program.last_words()}")
            return point in mounts_below(point)

        eventually(f"the mount by {self.name}", 60, is_mounted, 0.002)


class Rclone:
    """`rclone mount` as its pages on mount and S3 advise.

    Full caching with parallel chunks of 4 MiB, as for fast object stores and high latency; fast
    fingerprints and the server's times on S3, which save a request for each file (but in the work
    that wants the files' own); more transfers
    and S3 parts at once; a directory cache that is valid for long. Written files are uploaded after
    half a second, as by Apus, instead of five.
    """

    name = "rclone"
    remotes, has_store_times = ("webdav", "s3"), True
    options = """--vfs-cache-mode full --vfs-read-chunk-streams 16 --vfs-read-chunk-size 4M
        --vfs-fast-fingerprint --vfs-write-back 500ms --dir-cache-time 1h --transfers 32 --checkers 32""".split()
    s3_options = "--s3-upload-concurrency 16 --s3-chunk-size 16M".split()

    def version(self):
        return run([tool("rclone"), "version"]).split()[1].removeprefix("v")

    def command(self, mount, remote, port):
        address = f"127.0.0.1:{free_ports(1)[0]}"
        mount.control = address
        arguments = [tool("rclone"), "mount", *self.options, "--cache-dir", mount.cache]
        arguments += ["--rc", "--rc-addr", address, "--rc-no-auth"]
        if remote.name == "s3":
            environment = remote.rclone_environment(port)
            if mount.times != "file":
                arguments.append("--use-server-modtime")
            arguments += [*self.s3_options, f"remote:{remote.bucket}", mount.point]
            return arguments, environment
        environment = {
            "RCLONE_CONFIG": os.path.join(mount.directory, "none"),
            "RCLONE_CONFIG_REMOTE_TYPE": "webdav",
            "RCLONE_CONFIG_REMOTE_VENDOR": "other",
            "RCLONE_CONFIG_REMOTE_URL": f"http://127.0.0.1:{port}/",
        }
        return [*arguments, "remote:", mount.point], environment

    def settle(self, mount, seconds):
        def is_idle():
            stats = run([tool("rclone"), "rc", "--url", f"http://{mount.control}/", "vfs/stats"])
            cache = json.loads(stats)["diskCache"]
            return cache["uploadsInProgress"] + cache["uploadsQueued"] == 0

        eventually("rclone's uploads", seconds, is_idle, 0.2)


class S3fs:
    """s3fs as its manual advises, with a cache on disk and a large one of attributes."""

    name = "s3fs"
    remotes, has_store_times = ("s3",), False
    options = """use_path_request_style parallel_count=30 multireq_max=30 multipart_size=10
        max_stat_cache_size=200000 stat_cache_expire=3600 enable_noobj_cache""".split()

    def version(self):
        if not shutil.which("s3fs"):
            raise Failure("s3fs is not installed; run `apt-get install s3fs`")
        found = re.search(r"V(\d[\d.]*)", run(["s3fs", "--version"]))
        return found[1] if found else "unknown"

    def command(self, mount, remote, port):
        secrets = os.path.join(mount.directory, "password")
        with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(f"{remote.key}:{remote.secret}\n")
        scratch = os.path.join(mount.directory, "scratch")
        os.mkdir(scratch)
        options = [*self.options, f"url=http://127.0.0.1:{port}", f"passwd_file={secrets}"]
        options += [f"use_cache={mount.cache}", f"tmpdir={scratch}"]
        arguments = ["s3fs", remote.bucket, mount.point, "-f"]
        for option in options:
            arguments += ["-o", option]
        return arguments, {}

    def settle(self, mount, seconds):
        """Nothing to wait for: it uploads before a `close` returns."""
