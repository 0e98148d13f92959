"""Runs the works, each system in turn, and collects what they measure."""

import hashlib
import os
import shutil
import sys
import time
import traceback

from . import works
from .figures import NATIVE, Results
from .machine import Failure, Scope, force_unmount, make_directory, say
from .peers import Mount
from .servers import Folder, ObjectStore, Proxy, WebDAV, build_proxy
from .steps import make_file

REMOTES = {remote.name: remote for remote in (WebDAV, ObjectStore, Folder)}


def system_name(peer, remote):
    if not peer:
        return NATIVE
    return f"{peer.name} {remote.name}" if remote else peer.name


class Bench:
    """One run: its directory, its servers and its results."""

    # A turn of another program that takes longer is not repeated in later rounds.
    slow_seconds = 120

    def __init__(self, scope, options, sizes, peers):
        self.scope, self.options, self.sizes = scope, options, sizes
        self.directory = make_directory(scope)
        # Before its directory is removed, and after all daemons have ended.
        scope.add(force_unmount, self.directory)
        self.works = [works.WORKS[name] for name in options.only or works.WORKS]
        self.limit = options.limit
        self.results = Results(sizes)
        self.serial = 0
        self.remotes, self.versions = {}, {}
        self.peers = [peer for peer in peers if self.is_installed(peer)]
        # They show the disk instead of a remote.
        self.local_peers = [peer for peer in self.peers if not peer.remotes]
        self.digests = {}
        # What takes too long to be repeated.
        self.slow = set()

    def is_installed(self, peer):
        try:
            self.versions[peer.name] = peer.version()
            return True
        except Failure as failure:
            self.fail(peer.name, "all", failure)
            return False

    def is_built(self, peer):
        try:
            peer.build(self.directory)
            return True
        except Failure as failure:
            del self.versions[peer.name]
            self.fail(peer.name, "all", failure)
            return False

    def fail(self, system, work, reason):
        self.results.record_failure(system, work, str(reason))
        say(f"bench: {system} failed at {work}, and is left out there: {reason}")

    def path(self, name):
        return os.path.join(self.directory, name)

    def digest(self, name):
        if name not in self.digests:
            with open(self.path(f"native/{name}"), "rb") as file:
                self.digests[name] = hashlib.md5(file.read()).hexdigest()
        return self.digests[name]

    # Preparing

    def prepare(self):
        say(f"preparing in {self.directory}")
        native, names = self.path("native"), {work.name for work in self.works}
        os.mkdir(native)
        if names & {"read", "write"}:
            make_file(f"{native}/large", self.sizes.large)
        if "random" in names:
            make_file(f"{native}/huge", self.sizes.huge)
        if names & {"find", "find-store-times"}:
            works.make_tree(f"{native}/tree", self.sizes.files, self.sizes.directories)
        if "git" in names:
            works.make_repository(self.path("repository"), self.sizes.cloned)
        if "tar" in names:
            works.make_archive(self.path("archive.tar"), self.sizes.untarred)
        self.proxy = build_proxy(self.directory)
        self.local_peers = [peer for peer in self.local_peers if self.is_built(peer)]
        for name in self.wanted_remotes():
            self.start_remote(name, native)

    def wanted_remotes(self):
        used = {name for work in self.works for name in work.remotes}
        used &= {name for peer in self.peers for name in peer.remotes}
        return [name for name in REMOTES if name in used and name in self.options.remotes]

    def start_remote(self, name, native):
        say(f"starting {name}")
        try:
            remote = REMOTES[name](self.scope, self.directory)
            if name != "folder":
                remote.seed(native)
            self.remotes[name] = remote
        except Failure as failure:
            self.fail(f"the server of {name}", "all", failure)

    # Measuring

    def turns(self):
        """All turns in their order; from round to round another program comes first."""
        for number in range(self.options.rounds):
            for work in self.works:
                if work.is_local:
                    for peer in (None, *self.local_peers):
                        yield number, work, peer, None
                for name in work.remotes:
                    if name not in self.remotes:
                        continue
                    times = getattr(work, "times", None)
                    fitting = [
                        peer
                        for peer in self.peers
                        if name in peer.remotes and (times != "store" or peer.has_store_times)
                    ]
                    first = number % max(1, len(fitting))
                    for peer in fitting[first:] + fitting[:first]:
                        yield number, work, peer, self.remotes[name]

    def run(self):
        self.prepare()
        turns = list(self.turns())
        for index, (number, work, peer, remote) in enumerate(turns):
            system = system_name(peer, remote)
            if self.results.has_failed(system, work.name) or (system, work.name) in self.slow:
                continue
            start = time.monotonic()
            self.serial += 1
            try:
                os.sync()
                if remote:
                    self.run_mounted(work, system, peer, remote)
                else:
                    self.run_local(work, system, peer)
            except Failure as failure:
                self.fail(system, work.name, failure)
            except Exception:  # A fault of the bench ends one turn, not hours of others.
                traceback.print_exc()
                self.fail(system, work.name, sys.exc_info()[1])
            seconds = time.monotonic() - start
            place = f"[{index + 1}/{len(turns)}] round {number + 1}"
            say(f"{place}, {work.name}: {system}, {seconds:.1f} s")
            is_slow = seconds > self.slow_seconds and not system.startswith("apus")
            if is_slow and number + 1 < self.options.rounds:
                self.slow.add((system, work.name))
                self.results.note(
                    f"{system} did {work.name} {number + 1} of {self.options.rounds} "
                    f"times, since it took {seconds:.0f} s"
                )

    def run_local(self, work, system, peer):
        """A turn on the disk itself, or on a mount of it."""
        native = self.path("native")
        with Scope() as scope:
            if hasattr(work, "prepare"):
                work.prepare(native, self.sizes)
            root = self.path(f"mount-{self.serial}") if peer else native
            session = works.Session(self, system, root)
            for name in (session.new, "old"):
                scope.add(shutil.rmtree, os.path.join(native, name), True)
            if peer:
                peer.start(scope, native, root)
            work.run(session)

    def run_mounted(self, work, system, peer, remote):
        with Scope() as scope:
            if hasattr(work, "prepare"):
                work.prepare(remote.folder, self.sizes)
            proxy = None
            if remote.port:
                options = (self.options.rtt, self.options.rate, self.directory)
                proxy = Proxy(self.proxy, remote.port, *options)
                scope.add(proxy.stop)
            directory = self.path(f"mount-{self.serial}")
            mount = Mount(peer, remote, proxy.port if proxy else None, directory, work)
            scope.add(mount.stop)
            session = works.Session(self, system, mount.point, remote, mount, proxy)
            if proxy:
                scope.undoes.insert(0, (remote.remove, (session.new,)))
                proxy.wait_until_quiet(0.3, 10)
            else:
                trees = [f"{remote.folder}/{name}" for name in (session.new, "old")]
                for tree in trees:
                    scope.undoes.insert(0, (shutil.rmtree, (tree, True)))
            work.run(session)
            session.record("memory", mount.memory_peak())
