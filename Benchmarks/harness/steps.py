"""The measured work of a program on a folder, as a process of its own that can be killed.

    python3 steps.py NAME ARGUMENTS…

Prints its result as JSON. Everything that is read is checked: each block of 4 KiB of the files that
`make_file` makes begins with its number.
"""

import json
import os
import random
import sys
import time

BLOCK = 4096


def make_file(path, mebibytes):
    """A file that does not compress, whose blocks tell their numbers."""
    noise = random.Random(mebibytes).randbytes(1 << 20)
    with open(path, "wb") as file:
        for index in range(mebibytes):
            part = bytearray(noise)
            for start in range(0, len(part), BLOCK):
                number = (index << 20 | start) // BLOCK
                part[start : start + 8] = number.to_bytes(8, "big")
            file.write(part)


def check(data, offset):
    if int.from_bytes(data[:8], "big") != offset // BLOCK:
        sys.exit(f"wrong bytes at {offset}")


def read(path):
    """Reads a file from its start to its end, and notes when the first byte came."""
    size = 0
    start = time.monotonic()
    descriptor = os.open(path, os.O_RDONLY)
    os.pread(descriptor, 1, 0)
    first = time.monotonic()
    while data := os.read(descriptor, 1 << 20):
        if size % BLOCK == 0 and len(data) >= 8:
            check(data, size)
        size += len(data)
    end = time.monotonic()
    os.close(descriptor)
    return {"first": first - start, "seconds": end - start, "bytes": size}


def read_randomly(path, count):
    """Reads blocks here and there."""
    chosen = random.Random(2026)
    times = []
    descriptor = os.open(path, os.O_RDONLY)
    blocks = os.fstat(descriptor).st_size // BLOCK
    for _ in range(int(count)):
        offset = chosen.randrange(blocks) * BLOCK
        start = time.monotonic()
        data = os.pread(descriptor, BLOCK, offset)
        times.append(time.monotonic() - start)
        check(data, offset)
    os.close(descriptor)
    return {"times": times}


def small_bytes(number):
    return random.Random(f"small {number}").randbytes(10240)


def create(directory, count):
    """Makes files of 10 KiB."""
    contents = [small_bytes(number) for number in range(int(count))]
    os.mkdir(directory)
    start = time.monotonic()
    for number, data in enumerate(contents):
        with open(f"{directory}/{number}", "wb") as file:
            file.write(data)
    return {"start": start, "seconds": time.monotonic() - start}


def write(source, path):
    """Writes a file by 1 MiB, until `close` has returned."""
    with open(source, "rb") as file:
        data = file.read()
    os.mkdir(os.path.dirname(path))
    start = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for offset in range(0, len(data), 1 << 20):
            file.write(data[offset : offset + (1 << 20)])
    end = time.monotonic()
    return {"start": start, "seconds": end - start, "bytes": len(data)}


if __name__ == "__main__":
    steps = {step.__name__: step for step in (read, read_randomly, create, write)}
    print(json.dumps(steps[sys.argv[1]](*sys.argv[2:])))
