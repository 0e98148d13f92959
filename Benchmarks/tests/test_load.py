"""The bounds under load: a small run of a work, and its verdicts."""

import os
import subprocess
import unittest

from harness.bounds import WORKS
from harness.load import Bound, describe

BOUNDS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bounds")


class BoundTests(unittest.TestCase):
    def test_a_limit_is_held_or_not(self):
        self.assertTrue(Bound("memory", 99, "MiB", most=100).is_held)
        self.assertFalse(Bound("memory", 101, "MiB", most=100).is_held)
        self.assertFalse(Bound("rate", 1, "MiB/s", least=2).is_held)
        self.assertIn("✗", describe(Bound("memory", 101, "MiB", most=100)))
        self.assertNotIn("✗", describe(Bound("time", 101, "s")))

    def test_a_failure_is_a_bound_that_is_not_held(self):
        command = [BOUNDS, "--only", "opens", "--scale", "0.001", "--json", "--apus", "/bin/false"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)

    def test_an_unknown_work_is_named(self):
        done = subprocess.run([BOUNDS, "--only", "flying"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("flying is none of " + ", ".join(WORKS), done.stderr)
