"""What the disk under the data folder takes to make 8 KiB durable: no commit of a database there can cost less."""

import os
import tempfile
import time
from collections.abc import Iterator
from typing import Final

from django.conf import settings

from lifecycle_core.application.bench import figures
from lifecycle_core.application.bench.figures import Figure, Options

PAGES: Final = b"\x01" * 8192
PLACES: Final = 64
LONGEST: Final = 1000
# Not every system can leave a file's times out.
SYNC: Final = getattr(os, "fdatasync", os.fsync)


def measure(options: Options) -> Iterator[Figure]:
    """Write over the same places again and again, as a write-ahead log does."""
    samples: list[int] = []
    until = time.perf_counter() + options.seconds
    with tempfile.TemporaryFile(dir=settings.LIFECYCLE_DATA, buffering=0) as file:
        file.write(PAGES * PLACES)
        os.fsync(file.fileno())
        while len(samples) < LONGEST and (not samples or time.perf_counter() < until):
            os.pwrite(file.fileno(), PAGES, len(samples) % PLACES * len(PAGES))
            started = time.perf_counter_ns()
            SYNC(file.fileno())
            samples.append(time.perf_counter_ns() - started)
    yield from figures.latencies("disk.sync", samples, "median", "p99", bytes=len(PAGES))
