"""Tensor and sequence parallelism as graphs: hand-computed layers, saved bytes of the closed form, bytes that ranks send."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from replicas import run, with_streams

import placelab as pl
from placelab.models.config import CONFIGS

tensor_parallel = pl.transforms.tensor_parallel
SECONDS = {
    "ln_1": 1,
    "attn.c_attn": 3,
    "attn.attention": 1,
    "attn.c_proj": 1,
    "ln_2": 1,
    "mlp.c_fc": 4,
    "mlp.c_proj": 4,
}
CHAIN = ["ln_1", "attn.c_attn", "attn.attention", "attn.c_proj", "add_1", "ln_2", "mlp.c_fc", "mlp.c_proj", "add_2"]
OUTER = ("ln_1", "ln_2", "add_1", "add_2")
MODELS = [(2, False), (4, True)]


def seconds(name: str, t: int) -> float:
    """Seconds of an op on one device, so that a rank takes those of the golden."""
    return SECONDS.get(name, 0) * (1 if name in OUTER else t)


def layer(t: int) -> pl.OpGraph:
    """The forward pass of golden T1; tensors have 8 bytes."""
    names = ["x", *CHAIN]
    edges = [(i, i + 1) for i in range(len(CHAIN))] + [(0, names.index("add_1")), (names.index("add_1"), len(CHAIN))]
    return pl.OpGraph.from_arrays(
        names, [seconds(name, t) for name in names], edges, edge_bytes=8.0, edge_output=[0] * len(edges)
    )


def backward_pass(t: int) -> pl.OpGraph:
    """The backward pass of golden T2 after a forward pass without work, but with the all-reduce between its halves."""
    names = list(CHAIN)
    chain = [name for name in CHAIN if not name.startswith("add")]
    edges = [(names.index(u), names.index(v)) for u, v in pairwise(chain)]
    cost = [0.0] * len(names)
    given = names.index("mlp.c_proj")
    for name in chain[::-1]:
        both = not (name in OUTER or name == "attn.attention")
        for suffix in (".backward", ".weight_gradient") if both else (".backward",):
            edges.append((given, len(names)))
            names.append(name + suffix)
            cost.append(2.0 * t if name == "attn.attention" else seconds(name, t))
        given = names.index(f"{name}.backward")
    return pl.OpGraph.from_arrays(names, cost, edges, edge_bytes=8.0, edge_output=[0] * len(edges))


@pytest.mark.parametrize(("transfers", "duplex"), [("parallel", False), ("channel", False), ("sequential", True)])
@pytest.mark.parametrize(
    ("t", "scattered", "makespan"), [(4, False, 45), (4, True, 43.5), (2, False, 33), (2, True, 32)]
)
def test_the_forward_pass_of_a_layer(t, scattered, makespan, transfers, duplex):
    """Golden T1: two all-reduces of 8 bytes, or as many scatters and gathers, and norms on 1/t of the tokens."""
    made = tensor_parallel(layer(t), t, sequence_parallel=scattered)
    assert run(made, with_streams(t, latency=0.5), transfers=transfers, duplex=duplex).makespan == makespan


@pytest.mark.parametrize(("overlap", "makespan"), [(True, 51), (False, 58)])
def test_the_backward_pass_of_a_layer(overlap, makespan):
    """Golden T2: the sum of input gradients beside the gradients of weights, or after them."""
    made = tensor_parallel(backward_pass(4), 4, sequence_parallel=False, overlap=overlap)
    schedule = run(made, with_streams(4, latency=0.5))
    assert schedule.makespan - schedule.start[made.index("w0/mlp.c_proj.backward")] == makespan


SAVED = {
    "*/qkv": "column", "*/softmax": "heads", "*/dropout": "heads", "*/context": "heads", "*/proj": "row", "*/fc1": "column",
    "*/gelu": "heads", "*/fc2": "row",
}  # fmt: skip
RATIO = 3.2  # as/h


def saving(layers: int, selective: bool) -> pl.OpGraph:
    """Layers of GPT whose saved tensors are tensors, in units of sbh bytes; a backward op per layer reads them."""
    names = ["embed"]
    edges = []
    sizes = []
    outputs = []
    made: dict[tuple[str, str], tuple[int, float]] = {}

    def op(name: str, *inputs: tuple[str, str]) -> str:
        names.append(name)
        for producer, key in inputs:
            output, size = made[producer, key]
            edges.append((names.index(producer), len(names) - 1))
            sizes.append(size)
            outputs.append(output)
        return name

    def out(name: str, **sizes_of: float) -> None:
        for k, (key, size) in enumerate(sizes_of.items()):
            made[name, key] = (k, size)

    out("embed", x=2)
    x = "embed"
    saved = []
    for i in range(layers):
        given = [(x, "x")]
        out(op(f"{i}/ln1", (x, "x")), y=2)
        out(op(f"{i}/qkv", (f"{i}/ln1", "y")), qk=4, v=2)
        out(op(f"{i}/softmax", (f"{i}/qkv", "qk")), p=2 * RATIO)
        out(op(f"{i}/dropout", (f"{i}/softmax", "p")), p=2 * RATIO, mask=RATIO)
        out(op(f"{i}/context", (f"{i}/dropout", "p"), (f"{i}/qkv", "v")), c=2)
        out(op(f"{i}/proj", (f"{i}/context", "c")), z=2)
        out(op(f"{i}/add1", (f"{i}/proj", "z"), (x, "x")), x=2, mask=1)
        out(op(f"{i}/ln2", (f"{i}/add1", "x")), y=2)
        out(op(f"{i}/fc1", (f"{i}/ln2", "y")), u=8)
        out(op(f"{i}/gelu", (f"{i}/fc1", "u")), g=8)
        out(op(f"{i}/fc2", (f"{i}/gelu", "g")), z=2)
        out(op(f"{i}/add2", (f"{i}/fc2", "z"), (f"{i}/add1", "x")), x=2, mask=1)
        given += [(f"{i}/{name}", key) for name, key in (("ln1", "y"), ("qkv", "qk"), ("qkv", "v"), ("context", "c"))]
        if not selective:
            given += [(f"{i}/softmax", "p"), (f"{i}/dropout", "p"), (f"{i}/dropout", "mask")]
        given += [(f"{i}/{name}", key) for name, key in (("add1", "mask"), ("add1", "x"), ("ln2", "y"), ("fc1", "u"))]
        saved.append([*given, (f"{i}/gelu", "g"), (f"{i}/add2", "mask")])
        x = f"{i}/add2"
    out(op("loss", (x, "x")), g=0)
    for i in reversed(range(layers)):
        out(op(f"{i}/backward", *saved[i], ("loss" if i == layers - 1 else f"{i + 1}/backward", "g")), g=0)
    return pl.OpGraph.from_arrays(names, np.ones(len(names)), edges, edge_bytes=sizes, edge_output=outputs)


@pytest.mark.parametrize(
    ("t", "how", "one", "three"),
    [
        (1, dict(), 54, 154),
        (4, dict(sequence_parallel=False), 24, 64),
        (4, dict(), 13.5, 38.5),
        (4, dict(selective=True), 9.5, 26.5),
    ],
)
def test_saved_bytes(t, how, one, three):
    """Golden A2: the peak of a rank is what its layers save, and a working set of 4."""
    how = dict(how)
    selective = how.pop("selective", False)
    cluster = with_streams(t).replace(memory=[1e9] * t + [None] * t)
    for layers, peak in ((1, one), (3, three)):
        made = tensor_parallel(saving(layers, selective), t, roles=SAVED, **how)
        problem = pl.Problem(made, cluster, memory="dynamic", transfers="channel")
        schedule = pl.simulate(problem, pl.place(problem, "hash"), "fifo")
        assert schedule.peak_memory[:t] == pytest.approx([peak] * t)


TINY = {
    "llama": dict(model_type="llama", hidden_size=64, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
                  intermediate_size=128, vocab_size=1024),
    "gpt2": dict(CONFIGS["gpt2"], n_embd=64, n_layer=2, n_head=8, n_positions=64, vocab_size=1024),
    "mixtral": dict(CONFIGS["mixtral-8x7b"], hidden_size=64, num_hidden_layers=2, num_attention_heads=8,
                    num_key_value_heads=2, intermediate_size=128, vocab_size=1024),
    "deepseek": dict(CONFIGS["deepseek-v2-lite"], hidden_size=64, num_hidden_layers=2, num_attention_heads=8,
                     intermediate_size=128, moe_intermediate_size=64, vocab_size=1024),
}  # fmt: skip


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("t", [1, 2, 4, 8])
@pytest.mark.parametrize("family", TINY)
def test_a_training_step(family, t, scattered):
    """Collectives run on streams; ranks send what the closed forms count; one rank takes as long as the graph itself."""
    model = pl.models.read(TINY[family])
    graph = model.graph("train", sequence=16)
    made = tensor_parallel(graph, t, sequence_parallel=scattered)
    cluster = pl.clusters.data_parallel(t)
    schedule = run(made, cluster)
    if t == 1:
        problem = pl.Problem(graph, cluster)
        alone = pl.simulate(problem, pl.place(problem, "single"), "fifo")
        assert schedule.makespan == pytest.approx(alone.makespan)
    moving = np.isin(made.kind, ("ready", "reduce", "gather"))
    assert all("/stream" in made.device_sets[d][0] for d in made.device_set[moving])
    sent = np.zeros(t)
    crossing = moving[made.producer] & moving[made.consumer]
    for u, size in zip(made.producer[crossing], made.edge_bytes[crossing], strict=True):
        sent[int(made.names[u].rpartition("@")[2])] += size
    assert sent == pytest.approx(np.full(t, sent[0]))
    if family in ("llama", "gpt2"):
        hidden = 2 * 16 * 64  # an embedding, two layers with two rows and two columns, a head
        sums, gathers = (5 + 5, 0) if not scattered else (5 + 5, 5 + 5 + 5)
        assert sent[0] == pytest.approx(hidden * (t - 1) / t * (sums * (1 if scattered else 2) + gathers))


@pytest.mark.parametrize("t", [2, 4, 8])
def test_weights_are_divided(t):
    """A rank holds 1/t of products and tables, all of the norms, and a KV head at least."""
    model = pl.models.read(TINY["llama"])
    made = tensor_parallel(model.graph("train", sequence=16), t)
    on_rank = np.array([made.device_sets[d][0] == "worker:0" for d in made.device_set])
    h = 64
    f = 128
    layers = 2
    keys = 2 * h * 16 // min(t, 2)
    wanted = layers * (2 * h * h / t + keys + 3 * h * f / t + 2 * h) + h + 2 * 1024 * h / t
    assert made.persistent[on_rank].sum() == 2 * wanted


@pytest.mark.parametrize(
    ("t", "more", "words"),
    [
        (3, {}, "t is 3, which does not divide 8 heads"),
        (0, {}, "t is 0"),
        (2, dict(roles={"*": "diagonal"}), "role of '\\*' is 'diagonal'; expected one of column"),
    ],
)
def test_what_is_refused(t, more, words):
    """One sentence has the relation that is broken."""
    with pytest.raises(pl.PlacelabError, match=words):
        tensor_parallel(pl.models.read(TINY["llama"]).graph("train", sequence=16), t, **more)
