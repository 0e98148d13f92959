"""The works of `Benchmarks/bounds`, by name."""

from . import local_works, remote_works

WORKS = {work.name: work for work in (*local_works.WORKS, *remote_works.WORKS)}
