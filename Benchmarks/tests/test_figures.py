"""Medians, marks, tables and the page of results."""

import json
import os
import tempfile
import unittest
import xml.etree.ElementTree

from harness import pages
from harness.figures import (
    QUICK,
    Results,
    Sizes,
    aligned,
    best_peer,
    figures,
    is_behind,
    marks_met,
    number,
    table,
    verdict,
)

FIGURES = figures(Sizes())


def row(**values):
    return {name.replace("_", " "): {"value": value} for name, value in values.items()}


def result(date="2026-01-01", **changes):
    results = Results(Sizes())
    for name, systems in {
        "first-byte": {"apus s3": [40, 90, 42], "rclone s3": [150, 151, 149]},
        "read-cold": {"apus s3": [300], "rclone s3": [240], "s3fs s3": [220]},
        "find-warm": {"native": [20], "apus s3": [30], "s3fs s3": [2000]},
        "memory": {"apus s3": [50, 70, 60]},
        **changes,
    }.items():
        for system, values in systems.items():
            for value in values:
                results.record(name, system, value)
    results.record_failure("rclone webdav", "git", "git took longer than 600 s")
    return {
        "date": date,
        "commit": "abc",
        "machine": {"cpu": "c", "cores": 2, "memory": "8 GiB", "kernel": "6"},
        "versions": {"apus": "1"},
        "rtt": "20ms",
        "rate": "47.7MiB",
        "rounds": 3,
        "sizes": vars(Sizes()),
        "systems": ["native", "rclone s3", "s3fs s3", "apus s3", "apus folder"],
        "figures": results.summary(),
        "failures": results.failures,
        "notes": [],
    }


class FigureTests(unittest.TestCase):
    def test_a_figure_is_the_median_of_the_rounds_and_memory_the_largest(self):
        summary = result()["figures"]
        self.assertEqual(summary["first-byte"]["apus s3"]["value"], 42)
        self.assertEqual(summary["first-byte"]["apus s3"]["values"], [40, 90, 42])
        self.assertEqual(summary["memory"]["apus s3"]["value"], 70)

    def test_the_best_peer_is_on_the_same_remote_and_no_build_of_apus(self):
        measured = row(apus_s3=1, before_s3=1, rclone_s3=5, s3fs_s3=7, rclone_webdav=2)
        self.assertEqual(best_peer(FIGURES["find-cold"], measured, "s3"), 5)
        self.assertEqual(best_peer(FIGURES["read-cold"], measured, "s3"), 7)
        self.assertIsNone(best_peer(FIGURES["find-cold"], measured, "folder"))

    def test_marks_are_limits_or_multiples_of_native_or_of_the_best_peer(self):
        judge = lambda name, **values: verdict(FIGURES[name], row(**values), "s3")
        self.assertIs(judge("first-byte", apus_s3=45), True)
        self.assertIs(judge("first-byte", apus_s3=46), False)
        self.assertIs(judge("small-local", apus_s3=4000), True)
        self.assertIs(judge("find-warm", apus_s3=26, native=20), True)
        self.assertIs(judge("find-warm", apus_s3=27, native=20), False)
        self.assertIs(judge("read-warm", apus_s3=9, native=10), True)
        self.assertIs(judge("read-cold", apus_s3=13, rclone_s3=10, s3fs_s3=1), True)
        self.assertIs(judge("read-cold", apus_s3=12, rclone_s3=10, s3fs_s3=1), False)
        self.assertIsNone(judge("read-cold", apus_s3=12))
        self.assertIsNone(judge("find-warm", apus_s3=12))
        self.assertIsNone(judge("clone", rclone_s3=12, native=3))
        self.assertIsNone(judge("write-remote", apus_s3=12))

    def test_behind_means_that_a_peer_is_better(self):
        self.assertTrue(is_behind(FIGURES["find-cold"], row(apus_s3=3, rclone_s3=2), "s3"))
        self.assertFalse(is_behind(FIGURES["find-cold"], row(apus_s3=3, rclone_webdav=2), "s3"))
        self.assertTrue(is_behind(FIGURES["read-cold"], row(apus_s3=2, rclone_s3=3), "s3"))
        self.assertFalse(is_behind(FIGURES["read-cold"], row(apus_s3=3, rclone_s3=3), "s3"))

    def test_numbers_have_three_digits_that_matter(self):
        values = (12345.6, 1000, 123.4, 12.34, 10, 1.234, 0.012345, 0)
        texts = ["12,346", "1,000", "123", "12.3", "10", "1.23", "0.012", "0.00"]
        self.assertEqual([number(value) for value in values], texts)

    def test_a_table_shows_ratios_marks_and_who_is_behind(self):
        text = table(result(**{"find-cold": {"apus s3": [4], "rclone s3": [2]}}), FIGURES, False)
        lines = text.splitlines()
        self.assertEqual(
            lines[0],
            "| work | unit | native | rclone S3 | s3fs S3 | apus S3 | better than the best peer | mark |",
        )
        self.assertIn(
            "| first byte of a cold 256 MiB file | ms | – | 150 | – | 42 | S3 3.57 × | 45 ms |",
            lines,
        )
        find = "| `find -size +0`, 10,000 files, 100 directories"
        self.assertIn(
            f"{find}, warm | ms | 20 | – | 2,000 (100 ×) | 30 (1.50 ×) ✗ | S3 66.7 × | 1.3 × native |",
            lines,
        )
        self.assertIn(
            f"{find}, cold | s | – | 2.00 | – | **4.00** ✗ | S3 0.50 × | WebDAV 1.5, S3 3 s |",
            lines,
        )
        self.assertEqual(len(lines), 6)
        self.assertIn(
            "| largest memory | MiB | 70 | 100 MiB |",
            table(result(), FIGURES, True).splitlines(),
        )

    def test_columns_of_a_table_are_aligned_for_a_terminal(self):
        text = "| a | bb |\n| --- | --- |\n| ccc | 1 |\n"
        self.assertEqual(aligned(text), "a     bb\n---  ---\nccc    1\n")
        self.assertEqual(aligned(""), "")

    def test_marks_are_counted(self):
        # The cold read is 1.25 times the best, and the warm find is too slow.
        self.assertEqual(marks_met(result(), FIGURES), (2, 4))

    def test_titles_tell_the_sizes(self):
        self.assertIn("64 MiB", figures(QUICK)["first-byte"].title)
        self.assertIn("1,200 files", figures(QUICK)["remove"].title)


class PageTests(unittest.TestCase):
    def test_the_last_three_results_are_kept_and_the_rest_of_the_page_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "performance.md")
            with open(page, "w") as file:
                file.write(
                    f"# Performance\n\nBy hand.\n\n{pages.BEGIN}\noutdated\n{pages.END}\n\nAfter.\n"
                )
            for day in range(1, 6):
                pages.keep(result(f"2026-01-0{day}"), folder)
            with open(page) as file:
                text = file.read()
            with open(os.path.join(folder, "performance.json")) as file:
                kept = json.load(file)
            self.assertEqual([each["date"][-1] for each in kept], ["3", "4", "5"])
            places = [text.find(f"### 2026-01-0{day}\n") for day in range(1, 6)]
            self.assertEqual(places[:2], [-1, -1])
            self.assertLess(0, places[4])
            self.assertLess(places[4], places[3])
            self.assertLess(places[3], places[2])
            self.assertTrue(text.startswith("# Performance\n\nBy hand.\n"))
            self.assertTrue(text.endswith("\n\nAfter.\n"))
            self.assertNotIn("outdated", text)
            self.assertEqual(text.count("rclone webdav failed at git: git took longer"), 3)
            self.assertEqual(len(os.listdir(folder)), 3)
            xml.etree.ElementTree.parse(os.path.join(folder, "performance.svg"))

    def test_the_plot_compares_with_the_best_peer_or_the_disk(self):
        found = pages.points(result())
        ratios = {name.partition(" · ")[0]: round(ratio, 2) for name, ratio in found.items()}
        self.assertEqual(ratios["first byte of a cold 256 MiB file"], 3.57)
        self.assertEqual(ratios["cold sequential read"], 1.25)
        warm = "find -size +0, 10,000 files, 100 directories, warm"
        self.assertEqual(found[f"{warm} · S3 · disk"], 20 / 30)
        self.assertEqual(len(found), 3)
