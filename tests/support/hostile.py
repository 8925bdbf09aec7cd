"""Feed hostile files to a reader: ``python tests/support/hostile.py FORMAT`` prints the outcome and the cost of each.

A line per file: name, outcome, seconds of processor time, MiB that the process grew by. Instead of a format, the name of one of
SWELLING, small files that describe large graphs, runs that file alone.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator

import fuzz

from placelab.formats.protobuf import tagged

MIB = 1 << 20


def files() -> Iterator[tuple[str, bytes]]:
    """Names and contents, built one after another to save memory."""
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


def dot(default: str, n: int) -> bytes:
    """A digraph of n nodes with one default."""
    return f"digraph {{ node [compute=1, {default}] {listed('n', n, ';')} }}".encode()


def own_types(n: int) -> bytes:
    """A digraph of n nodes, each with the time on a device type of its own."""
    return ("digraph {" + ";".join(f'n{v} [time="{{\\"{v}\\":1}}"]' for v in range(n)) + "}").encode()


def listed(stem: str, n: int, between: str) -> str:
    """The first n names."""
    return between.join(f"{stem}{i}" for i in range(n))


def columns(n: int, sets: list, devices: list[int], outputs: int = 0, consumers: int = 0) -> bytes:
    """placelab JSON of n ops; the first has all outputs, and the second reads the first of them, again and again."""
    zeros = [0] * n
    counts = [outputs, *[0] * (n - 1)]
    ops = dict.fromkeys(("kind", "compute", "persistent", "temporary"), zeros)
    ops |= {"name": listed("n", n, " ").split(), "group": [-1] * n, "devices": devices, "outputs": counts}
    tensors = {"bytes": [1] * outputs, "consumers": [consumers, *[0] * (outputs - 1)][:outputs], "control": []}
    parts = {"metadata": {}, "ops": ops, "kinds": [""], "groups": [], "device_sets": sets, "tensors": tensors}
    whole = {"format": "placelab-graph", "version": 1, **parts, "edges": {"consumer": [1] * consumers}}
    return json.dumps(whole, separators=(",", ":")).encode()


def dax(k: int) -> bytes:
    """k jobs that all write the same k files, and k others that read them; the last writer is a parent of all."""
    uses = lambda link: "".join(f'<uses file="f{i}" link="{link}"/>' for i in range(k))  # noqa: E731
    jobs = lambda stem, link: (f'<job id="{stem}{i}">{uses(link)}</job>' for i in range(k))  # noqa: E731
    before = (f'<child ref="r{i}"><parent ref="w{k - 1}"/></child>' for i in range(k))
    return "".join(["<adag>", *jobs("w", "output"), *jobs("r", "input"), *before, "</adag>"]).encode()


def wfformat(k: int) -> bytes:
    """k tasks that all write the same k files, and are the parents of k others that read them."""
    writers = listed("w", k, " ").split()
    files = listed("f", k, " ").split()
    tasks: list[dict] = [{"id": name, "outputFiles": files} for name in writers]
    tasks += [{"id": f"r{i}", "parents": writers, "inputFiles": files} for i in range(k)]
    runs = [{"id": task["id"], "runtimeInSeconds": 1} for task in tasks]
    workflow = {"specification": {"tasks": tasks}, "execution": {"tasks": runs}}
    return json.dumps({"schemaVersion": "1.5", "workflow": workflow}, separators=(",", ":")).encode()


def unpacked(n: int) -> bytes:
    """A GraphDef of n ops that declare 100,000 outputs each."""
    joined = lambda fields: b"".join(tagged(number, value) for number, value in fields)  # noqa: E731
    number = joined([(1, b"num"), (2, b"\x18\xa0\x8d\x06")])
    return joined((1, joined([(1, b"n%d" % i), (2, b"Unpack"), (5, number)])) for i in range(n))


def called_twice(depth: int, letters: int) -> bytes:
    """HLO of functions that each call the one before twice."""
    function = (
        "f{} {{ x = f32[2] parameter(0) {}a = f32[2] call(x), to_apply=f{} ROOT {}b = f32[2] call({}a), to_apply=f{} }}"
    )
    stem = "n" * letters
    first = "f0 { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"
    rest = [function.format(i + 1, stem, i, stem, stem, i) for i in range(depth)]
    return "\n".join(
        [first, *rest, function.format("", stem, depth, stem, stem, depth).replace("f {", "ENTRY f {", 1)]
    ).encode()


def doubled(depth: int) -> bytes:
    """HLO of tuples that each hold the one before twice, and a loop that reads the last."""
    tuples = [f"t{i + 1} = (s32[], s32[]) tuple(t{i}, t{i})" for i in range(depth)]
    loop = f"ROOT w = s32[] custom-call(t{depth})"
    return f"ENTRY e {{ t0 = s32[] parameter(0) {' '.join(tuples)} {loop} }}".encode()


def in_quotes(entries: Iterable[str], brackets: str) -> str:
    """JSON quoted for DOT."""
    return '"' + brackets[0] + ",".join(entries).replace('"', '\\"') + brackets[1] + '"'


# Name → format, and what makes the file. Each took 3 to 40 s or 0.8 to 6 GB when nothing was counted.
SWELLING: dict[str, tuple[str, Callable[[], bytes]]] = {
    "outputs by default": (
        "dot",
        lambda: dot("outputs=" + in_quotes((f'"{i}":1' for i in range(1000)), "{}"), 3000),
    ),
    "times by default": ("dot", lambda: dot("time=" + in_quotes((f'"{i}":1' for i in range(1000)), "{}"), 9900)),
    "devices by default": ("dot", lambda: dot("devices=" + in_quotes((f'"d{i}"' for i in range(10_000)), "[]"), 8000)),
    "a device type per op": ("dot", lambda: own_types(6000)),
    "a device type per op, as many as allowed": ("dot", lambda: own_types(3100)),
    "one list of devices": ("placelab_json", lambda: columns(10_000, [listed("d", 50_000, " ").split()], [0] * 10_000)),
    "one list of devices, as long as allowed": (
        "placelab_json",
        lambda: columns(10_000, [listed("d", 2000, " ").split()], [0] * 10_000),
    ),
    "edges between two ops": ("placelab_json", lambda: columns(2, [], [-1, -1], 1, 5_000_000)),
    "outputs of one op": ("placelab_json", lambda: columns(1, [], [-1], 3_000_000)),
    "several writers": ("dax", lambda: dax(450)),
    "several writers and parents": ("wfformat", lambda: wfformat(430)),
    "declared outputs": ("tensorflow", lambda: unpacked(1000)),
    "calls of calls": ("hlo_text", lambda: called_twice(40, 1)),
    "calls of calls of long names": ("hlo_text", lambda: called_twice(14, 900)),
    "elements of tuples of tuples": ("hlo_text", lambda: doubled(60)),
}


def main(name: str) -> None:
    """Feed the files to the reader of a format."""
    form, build = SWELLING.get(name, (name, None))
    module, seeds = fuzz.FORMATS[form]
    read = fuzz.reader(module)
    for data in seeds():
        read(data)  # imports and caches are paid for
    for label, data in [(name, build())] if build else files():
        before = fuzz.peak()
        begun = time.process_time()
        outcome = fuzz.attempt(read, data)
        print(label, outcome, f"{time.process_time() - begun:.2f}", fuzz.peak() - before >> 20, len(data), sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
