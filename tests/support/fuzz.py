"""Feed damaged files to a reader: it may raise nothing but a PlacelabError, within limits on time and memory.

    python tests/support/fuzz.py                          # list the formats
    python tests/support/fuzz.py stg --minutes 10         # fuzz one of them on one core; exit status 0 if nothing was found
    python tests/support/fuzz.py stg --files ../data/*.stg    # with real files as seeds, too
    python tests/support/fuzz.py stg --only 4711          # repeat the input with number 4711, with its traceback

Seeds are small files that tests/support/samples.py builds. An input is a function of the format, `--seed` and its number, so
that a report suffices to reproduce it. A format of the catalogue is fuzzed with what the function of its reader's name returns.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from random import Random

import chakra_files
import dax_files
import onnx_models
import samples
import tensorflow_samples

from placelab.base.errors import FormatError, PlacelabError
from placelab.formats.catalogue import GRAPH, readers
from placelab.formats.protobuf import BYTES, fields, tagged

# Name → reader (a module of placelab with `loads`, or `module:function`) and a function that returns seeds: formats whose seeds
# have files of their own, and all of the catalogue for whose reader `samples` has a function of its name.
FORMATS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "tensorflow": ("formats.tensorflow.graph_def", tensorflow_samples.graphs),
    "tensorflow_text": ("formats.tensorflow.graph_def", lambda: [tensorflow_samples.text()]),
    "tensorflow_saved_model": ("formats.tensorflow.graph_def", lambda: [tensorflow_samples.served()]),
    "tensorflow_profile": ("formats.tensorflow.run_metadata", tensorflow_samples.profiles),
    "tensorflow_timeline": ("formats.tensorflow.run_metadata", lambda: [tensorflow_samples.timeline()]),
    "chakra": ("formats.task_graphs.execution_trace", chakra_files.seeds),
    "dax": ("formats.task_graphs.dax", dax_files.seeds),
    "onnx_model": ("formats.onnx.model_proto", onnx_models.seeds),
    "onnx_profile": ("formats.onnx.runtime_profile", onnx_models.profiles),
    "torch_archive": ("formats.torch.archive", samples.torch_archive),
    "torch_profile": ("formats.torch.profiler_trace", samples.torch_profile),
    **{
        name: (row.reader, seeds)
        for row in readers(GRAPH)
        if (seeds := vars(samples).get(name := row.reader.rpartition(".")[2]))
    },
}

SECONDS = 1.0  # of processor time for one input
MEMORY = 200 << 20  # bytes that one input may add to the most this process has ever held
LARGEST = 64 << 10  # bytes of an input, so that one takes milliseconds

WORDS = (
    *(b"", b"0", b"-1", b"1", b"0.5", b"1e999", b"-1e308", b"1e-320", b"NaN", b"inf", b"null", b"true", b"9" * 400),
    *(b"2147483648", b"18446744073709551616", b"-9223372036854775809", b'""', b"[]", b"{}", b"\x00", b"\xff\xfe"),
    *(b"\xed\xa0\x80", b"\n", b"\r\n", b"\t", b"'", b'"', b"\\", b"\\u0000", b"\\ud800", b"=1+1", b"/", b"../.."),
    *(b"[" * 3000, b'{"a":' * 3000, b"<a>" * 1000, b"a" * 5000),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the number of kinds of failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", nargs="?", choices=sorted(FORMATS))
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--files", nargs="*", default=[], type=Path)
    asked = parser.parse_args(arguments)
    if asked.format is None:
        print("\n".join(sorted(FORMATS)))
        return 0
    faulthandler.enable()
    read = reader(FORMATS[asked.format][0])
    seeds = FORMATS[asked.format][1]() + [path.read_bytes()[:LARGEST] for path in asked.files]
    if asked.only is not None:
        print(read(damaged(seeds, asked.seed, asked.only)))
        return 0
    return report(asked.format, *run(read, seeds, asked.seed, 60 * asked.minutes))


def reader(name: str) -> Callable[[bytes], object]:
    """``loads`` of a module of placelab, or the function named after a colon."""
    module, _, function = name.partition(":")
    return getattr(import_module(f"placelab.{module}"), function or "loads")


def run(
    read: Callable[[bytes], object], seeds: list[bytes], seed: int, seconds: float
) -> tuple[Counter, dict[str, str], float]:
    """Outcomes by kind, the first of each kind of failure, and the longest time one input took [s]."""
    for data in seeds:
        read(data)  # what is not damaged is read; imports and caches are paid for
    outcomes = Counter()
    failures = {}
    slowest = 0.0
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        data = damaged(seeds, seed, number)
        before = peak()
        begun = time.process_time()
        outcome = attempt(read, data)
        took = time.process_time() - begun
        grown = peak() - before
        slowest = max(slowest, took)
        for fault in (
            outcome.startswith("! ") and outcome,
            took > SECONDS and f"! slow: {took:.1f} s",
            grown > MEMORY and f"! large: {grown >> 20} MiB more",
        ):
            if fault:
                failures.setdefault(fault, f"--seed {seed} --only {number}")
        outcomes[outcome] += 1
        number += 1
    return outcomes, failures, slowest


def peak() -> int:
    """Peak memory of this process [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def attempt(read: Callable[[bytes], object], data: bytes) -> str:
    """Outcome of an input: ``read``, the kind of PlacelabError, or ``! `` and where another exception was raised."""
    try:
        read(data)
        return "read"
    except PlacelabError as error:
        return (
            f"! not one sentence: {str(error)!r:.80}" if "\n" in str(error) or not str(error) else type(error).__name__
        )
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"! {type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error!s:.80}"


def report(name: str, outcomes: Counter, failures: dict[str, str], slowest: float) -> int:
    """Print the outcomes; returns the number of kinds of failure."""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in outcomes.most_common() if not kind.startswith("! "))
    print(
        f"{name}: {sum(outcomes.values()):,} inputs ({counts}), slowest {slowest:.2f} s, {len(failures)} kinds of failure"
    )
    for fault, again in failures.items():
        print(f"  {fault}\n    python tests/support/fuzz.py {name} {again}")
    return len(failures)


# ------------------------------------------------------------------------------------------------- damage


def damaged(seeds: list[bytes], seed: int, number: int) -> bytes:
    """Input `number`: a seed with one to eight kinds of damage, sometimes zipped."""
    random = Random(f"{seed}:{number}")
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        data = random.choice(DAMAGE)(data, seeds, random)[:LARGEST]
    return gzip.compress(data, 1) if random.random() < 0.02 else data


def flip(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Change one byte."""
    at = random.randrange(len(data) + 1)
    return data[:at] + random.randbytes(1) + data[at + 1 :]


def cut(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Cut off the end."""
    return data[: random.randrange(len(data) + 1)]


def remove(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Remove a piece."""
    a, b = piece(data, random)
    return data[:a] + data[b:]


def repeat(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Repeat a piece."""
    a, b = piece(data, random)
    return data[:b] + data[a:b] * random.choice((1, 1, 2, 50)) + data[b:]


def splice(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Insert a piece of another seed."""
    other = random.choice(seeds)
    (a, b), (c, d) = piece(data, random), piece(other, random)
    return data[:a] + other[c:d] + data[b:]


def word(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Replace a number or name by a value that often breaks programs."""
    a, b = token(data, random)
    return data[:a] + random.choice(WORDS) + data[b:]


def swap(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Replace a number or name by another one of the file."""
    (a, b), (c, d) = token(data, random), token(data, random)
    return data[:a] + data[c:d] + data[b:]


def line(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Remove, double or move a line."""
    lines = data.split(b"\n")
    i = random.randrange(len(lines))
    moved = lines.pop(i)
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines) + 1), moved)
    return b"\n".join(lines)


def field(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Damage a field of a protobuf file at any depth, and correct the lengths around it."""
    try:
        found = [(number, value, end, start) for number, wire, start, value, end in fields(data, "") if wire == BYTES]
    except FormatError:
        found = []
    if not found or random.random() < 0.3:
        return random.choice((flip, repeat, splice, word, cut))(data, seeds, random)
    number, value, end, start = random.choice(found)
    return data[:start] + tagged(number, field(data[value:end], seeds, random)) + data[end:]


def value(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    """Remove a value of a JSON file, or replace it by another value of the file or by an odd one."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return word(data, seeds, random)
    places = [(parent, key) for parent in containers(document) for key in keys(parent)]
    if not places:
        return data
    (parent, key), (source, there) = random.choice(places), random.choice(places)
    odd = (None, True, -1, 0.5, 10**30, 1e308, "", "\ud800", "a\nb", [], {}, [[]], [{}], "x" * 3000)
    new = json.loads(json.dumps(source[there])) if random.random() < 0.5 else random.choice(odd)
    if random.random() < 0.2:
        del parent[key]
    else:
        parent[key] = new
    return json.dumps(document).encode()


def containers(document: object) -> list:
    """All lists and objects of parsed JSON."""
    found = []
    waiting = [document]
    while waiting:
        if isinstance(part := waiting.pop(), (list, dict)):
            found.append(part)
            waiting += part if isinstance(part, list) else part.values()
    return found


def keys(parent: list | dict) -> list:
    """Indices of a list, keys of an object."""
    return list(parent) if isinstance(parent, dict) else list(range(len(parent)))


def piece(data: bytes, random: Random) -> tuple[int, int]:
    """Start and end of a piece, mostly a short one."""
    a = random.randrange(len(data) + 1)
    return a, min(len(data), a + random.choice((1, 2, 8, 40, 400, 10_000)))


def token(data: bytes, random: Random) -> tuple[int, int]:
    """Start and end of the letters and digits around an index."""
    a = b = random.randrange(len(data) + 1)
    while a and data[a - 1 : a].isalnum():
        a -= 1
    while data[b : b + 1].isalnum():
        b += 1
    return a, b


DAMAGE = (flip, cut, remove, repeat, splice, word, word, swap, line, value, value, field, field)

if __name__ == "__main__":
    sys.exit(main())
