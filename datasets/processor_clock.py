"""Measure ops by processor time, on a machine that runs other programs, too.

TensorFlow's tracer reads ``CLOCK_REALTIME``. A library that is loaded before the C library returns the processor time of the
process instead, which on one thread is the time of the running op. On an idle machine both are the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

SOURCE = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    return syscall(SYS_clock_gettime, id == CLOCK_REALTIME ? CLOCK_PROCESS_CPUTIME_ID : id, now);
}
"""


def start_again(without: str) -> None:
    """Restart this program with that clock and without the argument `without`. Needs Linux and a C compiler."""
    folder = Path(mkdtemp())
    source = folder / "clock.c"
    library = folder / "clock.so"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    arguments = [argument for argument in sys.argv if argument != without]
    os.execve(sys.executable, [sys.executable, *arguments], os.environ | {"LD_PRELOAD": str(library)})
