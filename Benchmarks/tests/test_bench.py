"""Failures on the way: what is left out, what goes on, and that nothing stays behind."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness import steps
from harness.bench import Bench
from harness.figures import Sizes
from harness.machine import Failure, Program, Scope, eventually, make_directory, run, stat_fields
from harness.peers import FuseAlone, Mount

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")
TINY = Sizes(1, 1, 2, 2, 4, 2, 4, 4, 200, 100)


def programs_with(text):
    """The processes that have a text in their arguments."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline") as file:
                arguments = file.read()
        except OSError:
            continue
        if text in arguments:
            found.append(arguments)
    return found


class Broken:
    """A program that ends instead of mounting."""

    name, remotes = "broken", ("folder",)

    def version(self):
        return "1"

    def command(self, mount, *_):
        return ["sh", "-c", "echo it is broken >&2; exit 3"], {}


class Missing(Broken):
    name = "missing"

    def version(self):
        raise Failure("missing is not installed")


class TemporaryTests(unittest.TestCase):
    """Tests whose temporary files all go to one directory, which is empty at the end."""

    def setUp(self):
        self.directory = tempfile.mkdtemp()
        before = tempfile.tempdir
        tempfile.tempdir = self.directory
        self.addCleanup(setattr, tempfile, "tempdir", before)

    def tearDown(self):
        self.assertEqual(os.listdir(self.directory), [])
        os.rmdir(self.directory)


class BenchTests(TemporaryTests):
    def run_bench(self, peers, only, rounds=2):
        options = argparse.Namespace(
            only=only, remotes=["folder"], rounds=rounds, limit=60, rtt="1ms", rate=None
        )
        with Scope() as scope:
            bench = Bench(scope, options, TINY, peers)
            bench.run()
            return bench

    def test_a_program_that_fails_is_told_once_and_the_rest_goes_on(self):
        bench = self.run_bench([Missing(), Broken()], ["tar", "remove"])
        failures = [(each["system"], each["work"]) for each in bench.results.failures]
        self.assertEqual(
            failures, [("missing", "all"), ("broken folder", "tar"), ("broken folder", "remove")]
        )
        self.assertIn("it is broken", bench.results.failures[1]["reason"])
        for name in ("tar-local", "remove"):
            self.assertEqual(list(bench.results.values[name]), ["native"])
            self.assertEqual(len(bench.results.values[name]["native"]), 2)

    def test_what_takes_too_long_is_not_repeated(self):
        original, Bench.slow_seconds = Bench.slow_seconds, 0
        self.addCleanup(setattr, Bench, "slow_seconds", original)
        bench = self.run_bench([], ["tar"], rounds=3)
        self.assertEqual(len(bench.results.values["tar-local"]["native"]), 1)
        self.assertEqual(len(bench.results.notes), 1)
        self.assertIn("native did tar 1 of 3 times", bench.results.notes[0])

    @unittest.skipUnless(
        os.path.exists(FuseAlone.source)
        and os.access("/dev/fuse", os.W_OK)
        and shutil.which("fusermount3"),
        "no FUSE, or libfuse's examples are not here",
    )
    def test_fuse_alone_is_measured_beside_the_disk(self):
        bench = self.run_bench([FuseAlone()], ["tar", "remove", "start"], rounds=1)
        self.assertEqual(bench.results.failures, [])
        for name in ("tar-local", "remove"):
            self.assertEqual(list(bench.results.values[name]), ["native", "FUSE alone"])
        self.assertNotIn("start-ended", bench.results.values)

    def test_without_the_example_of_libfuse_the_rest_goes_on(self):
        class NotThere(FuseAlone):
            source = "/none.c"

        bench = self.run_bench([NotThere()], ["tar"], rounds=1)
        failures = [(each["system"], each["work"]) for each in bench.results.failures]
        self.assertEqual(failures, [("FUSE alone", "all")])
        self.assertEqual(list(bench.results.values["tar-local"]), ["native"])

    def test_another_program_comes_first_in_each_round(self):
        class Other(Broken):
            name = "other"

        options = argparse.Namespace(
            only=["tar"], remotes=["folder"], rounds=2, limit=60, rtt="1ms", rate=None
        )
        with Scope() as scope:
            bench = Bench(scope, options, TINY, [Broken(), Other()])
            bench.prepare()
            names = [peer.name if peer else "native" for _, _, peer, _ in bench.turns()]
        self.assertEqual(names, ["native", "broken", "other", "native", "other", "broken"])

    def test_a_mount_that_does_not_come_leaves_no_process_and_no_directory(self):
        class Hanging(Broken):
            def command(self, mount, *_):
                pids.append(mount)
                return ["sh", "-c", "trap '' TERM; echo waiting >&2; exec cat /dev/zero"], {}

        pids = []
        original, Mount.patience = Mount.patience, (0.2, 0.2)
        self.addCleanup(setattr, Mount, "patience", original)
        with self.assertRaisesRegex(Failure, "the mount by broken took longer"):
            Mount(Hanging(), None, None, os.path.join(self.directory, "m"))
        self.assertFalse(pids[0].program.is_running)

    def test_a_signal_ends_the_bench_and_nothing_stays(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            program = os.path.join(folder, "apus")
            with open(program, "w") as file:
                file.write('#!/bin/sh\n[ "$1" = mount ] || exit 0\nexec sleep 1000\n')
            os.chmod(program, 0o755)
            process = subprocess.Popen(
                [sys.executable, "-B", BENCH, "--quick", "--only", "tar", "--apus", program],
                env={**os.environ, "TMPDIR": self.directory},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            with process.stdout, process.stderr:
                for line in process.stderr:
                    if "native" in line:
                        break
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 128 + signal.SIGTERM)
            self.assertEqual(programs_with(folder) + programs_with(self.directory), [])


class ScopeTests(TemporaryTests):
    def test_all_is_undone_newest_first_though_one_fails(self):
        undone = []

        def fail():
            raise OSError("cannot")

        with self.assertRaises(KeyError):
            with Scope() as scope:
                scope.add(undone.append, 1)
                scope.add(fail)
                scope.add(undone.append, 2)
                raise KeyError
        self.assertEqual(undone, [2, 1])

    def test_directories_without_write_permission_are_removed(self):
        with Scope() as scope:
            path = make_directory(scope)
            os.makedirs(f"{path}/a/b")
            open(f"{path}/a/b/c", "w").close()
            os.chmod(f"{path}/a/b", 0o500)

    def test_a_command_that_takes_too_long_is_ended_with_its_children(self):
        path = os.path.join(self.directory, "pid")
        command = ["sh", "-c", f"sleep 1000 & echo $! >{path}; wait"]
        start = time.monotonic()
        with self.assertRaisesRegex(Failure, "sh took longer than 0.5 s"):
            run(command, limit=0.5)
        self.assertLess(time.monotonic() - start, 60)
        with open(path) as file:
            pid = file.read().strip()
        os.unlink(path)
        eventually("the end of its child", 60, lambda: stat_fields(pid)[:1] in ([], ["Z"]))

    def test_a_program_that_cannot_be_started_is_a_failure(self):
        with self.assertRaisesRegex(Failure, "no-such-program cannot be started"):
            Program(["/no-such-program"], os.devnull)

    def test_a_failed_command_tells_its_last_line(self):
        with self.assertRaisesRegex(Failure, "sh ended with status 4: last"):
            run(["sh", "-c", "echo first >&2; echo last >&2; exit 4"])


class StepTests(TemporaryTests):
    def test_wrong_bytes_are_noticed(self):
        path = os.path.join(self.directory, "file")
        steps.make_file(path, 2)
        self.assertEqual(steps.read(path)["bytes"], 2 << 20)
        self.assertEqual(len(steps.read_randomly(path, 9)["times"]), 9)
        with open(path, "r+b") as file:
            file.seek(1 << 20)
            file.write(bytes(8))
        with self.assertRaisesRegex(SystemExit, f"wrong bytes at {1 << 20}"):
            steps.read(path)
        os.unlink(path)
