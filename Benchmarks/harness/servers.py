"""The servers that a bench mounts, each behind proxies that put them far away."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from .machine import Failure, Program, eventually, free_ports, run

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.path.join(os.path.dirname(HERE), ".venv", "bin")


def tool(name):
    """A program of the project's virtual environment, or of the system."""
    own = os.path.join(TOOLS, name)
    found = own if os.access(own, os.X_OK) else shutil.which(name)
    if not found:
        raise Failure(f"{name} is not installed; run scripts/setup")
    return found


def c_compiler():
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise Failure("there is no C compiler (cc or clang)")
    return compiler


def build_proxy(directory):
    """Compiles delay-proxy.c."""
    program = os.path.join(directory, "delay-proxy")
    run([c_compiler(), "-O2", "-o", program, os.path.join(HERE, "delay-proxy.c")])
    return program


class Proxy:
    """A delay-proxy process in front of a port."""

    def __init__(self, program, target, rtt, rate, directory):
        arguments = [program, "--target", f"127.0.0.1:{target}", "--rtt", rtt]
        if rate:
            arguments += ["--rate", rate]
        log = os.path.join(directory, "proxy.log")
        self.program = Program(arguments, log, output=subprocess.PIPE)
        self.output = self.program.process.stdout
        self.lock = threading.Lock()
        line = self.output.readline()
        if not line:
            raise Failure(f"the proxy ended: {self.program.last_words()}")
        self.port = json.loads(line)["port"]

    def counts(self):
        with self.lock:
            self.program.process.send_signal(signal.SIGUSR1)
            return json.loads(self.output.readline())

    def wait_until_quiet(self, quiet=0.5, limit=15):
        """Waits until no bytes have passed for a while, and returns the counts."""
        end, since, before = time.monotonic() + limit, time.monotonic(), None
        while True:
            counts = self.counts()
            now = time.monotonic()
            amount = (counts["bytes_up"], counts["bytes_down"])
            if amount != before:
                before, since = amount, now
            if now - since >= quiet or now > end:
                return counts
            time.sleep(0.05)

    def stop(self):
        self.program.stop()
        self.output.close()


class WebDAV:
    """Apache's mod_dav over a folder, with Debian's limits of a connection and more workers."""

    name = "webdav"

    def __init__(self, scope, directory):
        self.folder = os.path.join(directory, "webdav")
        run_directory = os.path.join(directory, "apache")
        for path in (self.folder, run_directory):
            os.mkdir(path)
            os.chmod(path, 0o777)
        self.port = free_ports(1)[0]
        self.directory = run_directory
        with open(os.path.join(run_directory, "settings"), "w") as file:
            file.write(self.settings(run_directory))
        self.program = None
        scope.add(self.stop)
        self.start()

    def start(self):
        settings, output = (os.path.join(self.directory, name) for name in ("settings", "output"))
        self.program = Program(["/usr/sbin/apache2", "-f", settings, "-DFOREGROUND"], output)
        await_port(self.program, self.port)

    def stop(self):
        if self.program:
            self.program.stop()

    @contextlib.contextmanager
    def stopped(self):
        """Refuses connections, until it is started again."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def settings(self, directory):
        modules = "mpm_event authz_core dav dav_fs dav_lock".split()
        loading = [
            f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules
        ]
        return "\n".join(
            [
                f"ServerRoot {directory}",
                "ServerName 127.0.0.1",
                f"Listen 127.0.0.1:{self.port}",
                f"PidFile {directory}/pid",
                f"ErrorLog {directory}/log",
                *loading,
                "User www-data\nGroup www-data" if os.geteuid() == 0 else "",
                "KeepAlive On\nMaxKeepAliveRequests 100\nKeepAliveTimeout 5",
                "StartServers 4\nThreadsPerChild 64\nServerLimit 8\nMaxRequestWorkers 512",
                f"DavLockDB {directory}/locks",
                f"DocumentRoot {self.folder}",
                f"<Directory {self.folder}>\nDav On\nRequire all granted\n</Directory>\n",
            ]
        )

    def seed(self, source):
        shutil.copytree(source, self.folder, dirs_exist_ok=True)
        for top, _, names in os.walk(self.folder):
            os.chmod(top, 0o777)
            for name in names:
                os.chmod(os.path.join(top, name), 0o666)

    def sizes(self, directory):
        """The sizes of the whole files in a directory, by name."""
        try:
            with os.scandir(os.path.join(self.folder, directory)) as entries:
                return {
                    entry.name: entry.stat().st_size
                    for entry in entries
                    if entry.is_file() and not entry.name.startswith(".")
                }
        except FileNotFoundError:
            return {}

    def digest(self, path):
        with open(os.path.join(self.folder, path), "rb") as file:
            return hashlib.md5(file.read()).hexdigest()

    def remove(self, directory):
        shutil.rmtree(os.path.join(self.folder, directory), ignore_errors=True)


class ObjectStore:
    """SeaweedFS with one bucket. What it holds is asked of its filer, beside the proxy."""

    name = "s3"
    bucket = "bench"
    key, secret = "apus-key", "apus-secret"

    def __init__(self, scope, directory, notified=None):
        """`notified` has the address for its notifications, and the file with the secret for it."""
        self.base = os.path.join(directory, "seaweedfs")
        os.mkdir(self.base)
        self.ports = free_ports(8)
        self.port, self.filer = self.ports[0], self.ports[6]
        identities = os.path.join(self.base, "identities.json")
        credentials = [{"accessKey": self.key, "secretKey": self.secret}]
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        with open(identities, "w") as file:
            identity = {"name": "apus", "credentials": credentials, "actions": actions}
            json.dump({"identities": [identity]}, file)
        names = "s3.port s3.port.grpc master.port master.port.grpc volume.port volume.port.grpc "
        names += "filer.port filer.port.grpc"
        os.mkdir(os.path.join(self.base, "data"))
        arguments = [tool("weed"), "-logtostderr", "server", f"-dir={self.base}/data"]
        arguments += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
        arguments += ["-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={identities}"]
        arguments += ["-master.volumeSizeLimitMB=1024", "-master.telemetry=false", "-volume.max=40"]
        arguments += [f"-{name}={port}" for name, port in zip(names.split(), self.ports)]
        if notified:
            self.notify(*notified)
        program = Program(arguments, os.path.join(self.base, "log"), directory=self.base)
        scope.add(self.remove_sockets)
        # It takes half a minute to end by itself.
        scope.add(program.kill)
        for port in (self.port, self.filer):
            await_port(program, port)
        eventually("SeaweedFS's first object", 60, self.takes_objects, 0.2)

    def notify(self, address, secret):
        """Writes the settings of its notifications, which it looks for in its directory."""
        with open(secret) as file, open(os.path.join(self.base, "notification.toml"), "w") as settings:
            settings.write(
                f'[notification.webhook]\nenabled = true\nendpoint = "{address}"\n'
                f'bearer_token = "{file.read().strip()}"\nbackoff_seconds = 1\n'
            )

    def remove_sockets(self):
        """Removes the sockets that SeaweedFS leaves, for whose directory it has no option."""
        for port in self.ports:
            for name in os.listdir("/tmp"):
                if name.startswith("seaweedfs-") and name.endswith(f"-{port}.sock"):
                    os.unlink(os.path.join("/tmp", name))

    @property
    def environment(self):
        """What a client finds its credentials in."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SHARED_CREDENTIALS_FILE": f"{self.base}/none",
            "AWS_CONFIG_FILE": f"{self.base}/none",
        }

    def rclone_environment(self, port):
        return {
            **self.environment,
            "RCLONE_CONFIG": f"{self.base}/none",
            "RCLONE_CONFIG_REMOTE_TYPE": "s3",
            "RCLONE_CONFIG_REMOTE_PROVIDER": "SeaweedFS",
            "RCLONE_CONFIG_REMOTE_ENV_AUTH": "true",
            "RCLONE_CONFIG_REMOTE_ENDPOINT": f"http://127.0.0.1:{port}",
            "RCLONE_CONFIG_REMOTE_REGION": "us-east-1",
        }

    def takes_objects(self):
        try:
            self.rclone("mkdir", f"remote:{self.bucket}")
            self.rclone("touch", f"remote:{self.bucket}/ready")
            self.rclone("deletefile", f"remote:{self.bucket}/ready")
            return True
        except Failure:
            return False

    def rclone(self, *arguments):
        options = ["--retries", "1", "--transfers", "32", "--checkers", "32"]
        environment = self.rclone_environment(self.port)
        return run([tool("rclone"), *options, *arguments], environment=environment)

    def seed(self, source):
        self.rclone("copy", source, f"remote:{self.bucket}")

    def ask_filer(self, method, path, query, body=None):
        path = urllib.parse.quote(f"/buckets/{self.bucket}/{path}")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.filer}{path}?{query}",
            method=method,
            data=body,
            headers={"Accept": "application/json", "Content-Type": "application/octet-stream"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return b""
            raise Failure(f"SeaweedFS answers {error.code} to {method} {path}") from error

    def put(self, path, data):
        """Writes an object as another client, or removes it if the data are None."""
        self.ask_filer("DELETE" if data is None else "PUT", path, "", data)

    def entries(self, directory):
        reply = self.ask_filer("GET", f"{directory}/", "limit=100000")
        return (json.loads(reply).get("Entries") if reply else None) or []

    def sizes(self, directory):
        """The sizes of the objects in a directory, by name."""
        return {
            os.path.basename(entry["FullPath"]): entry["FileSize"]
            for entry in self.entries(directory)
            if not entry.get("Mode", 0) & 1 << 31
        }

    def digest(self, path):
        return hashlib.md5(self.ask_filer("GET", path, "")).hexdigest()

    def remove(self, directory):
        self.ask_filer("DELETE", f"{directory}", "recursive=true&ignoreRecursiveError=true")


class Folder:
    """A folder of this machine as a remote, without a network."""

    name = "folder"
    port = None

    def __init__(self, _, directory):
        self.folder = os.path.join(directory, "folder")
        os.mkdir(self.folder)


def await_port(program, port):
    def answers():
        if not program.is_running:
            raise Failure(f"{program.name} ended: {program.last_words()}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except urllib.error.HTTPError:
            pass
        except OSError:
            return False
        return True

    eventually(f"the start of {program.name}", 60, answers, 0.1)
