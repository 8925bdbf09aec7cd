"""Feeds one reader the files that break programs: ``python tests/hostile.py FORMAT`` prints what became of each, and its cost.

A line per file: name, outcome, seconds of processor time, MiB that the process grew by.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Iterator

import fuzz

MIB = 1 << 20


def files() -> Iterator[tuple[str, bytes]]:
    """Names and contents. Built one after another, so that they do not add up."""
    yield "empty", b""
    yield "zeros", bytes(MIB)
    yield "lists in lists", b"[" * 10**6
    yield "objects in objects", b'{"a":' * 10**6
    yield "elements in elements", b"<a>" * 10**6
    yield "subgraphs in subgraphs", b"digraph " + b"{" * 10**6
    yield "blocks in blocks", b"node { " * 10**6
    yield "messages in messages", b"\n\x80\x80\x40" * 10**5
    yield "a huge length", b"\n\xff\xff\xff\xff\x0f" * 10**5
    yield "a quote that never ends", b'"' + b"\\" * MIB
    yield "many empty objects", b"[" + b"{}," * MIB + b"1]"
    yield "many empty lines", b"\n" * (4 * MIB)
    yield "many statements", b"digraph {" + b";" * (4 * MIB) + b"}"
    yield "many edges", b"digraph { a [weight=1]; b [weight=1]; " + b"a -> b;" * 10**6 + b"}"
    yield "many inputs", b'node { name: "a" op: "b" ' + b'input: "a" ' * 10**6 + b"}"
    yield "many empty messages", b"\n\x00" * 10**6
    yield "no UTF-8", b"\xff" * MIB
    yield "a million nines", b"9" * 10**6
    yield "a long word", b"a" * (4 * MIB)
    yield "a zip bomb", bomb(400)
    yield "a zip bomb in a zip bomb", zlib.compress(bomb(400), wbits=31)
    yield "a broken zip", bomb(1)[:500]


def bomb(size: int) -> bytes:
    """A gzip file that unpacks to `size` MiB of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(bytes(MIB)) for _ in range(size)] + [packer.flush()])


def main(name: str) -> None:
    """Feed them to the reader of a format."""
    module, seeds = fuzz.FORMATS[name]
    read = fuzz.reader(module)
    for data in seeds():
        read(data)  # imports and caches are paid for
    for label, data in files():
        before, begun = fuzz.peak(), time.process_time()
        outcome = fuzz.attempt(read, data)
        print(label, outcome, f"{time.process_time() - begun:.2f}", fuzz.peak() - before >> 20, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
