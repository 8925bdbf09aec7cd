"""Generated graphs: closed forms of their sizes, shapes, costs, seeds, and graphs of a million ops."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from placelab.base.errors import FormatError, UnsupportedError
from placelab.graphs import generators

FAMILIES = [
    (generators.layered, (300,)),
    (generators.fork_join, (5, 3)),
    (generators.stencil, (6, 4)),
    (generators.gaussian_elimination, (6,)),
    (generators.fft, (8,)),
    (generators.independent, (7,)),
    (generators.fork, (7,)),
    (generators.join, (7,)),
    (generators.out_tree, (12, 3)),
    (generators.in_tree, (12, 3)),
    (generators.pipeline, (4, 5)),
    (generators.series_parallel, (20,)),
    (generators.random_dag, (20,)),
]


def depth(graph):
    """Edges on a longest path."""
    return nx.dag_longest_path_length(nx.DiGraph(graph.edges.tolist()))


def same(a, b):
    return all(
        np.array_equal(getattr(a, column), getattr(b, column))
        for column in ("names", "compute", "edge_tensor", "consumer", "tensor_bytes")
    )


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_layered_has_the_ops_asked_for(n):
    """The number of ops is as requested, also for one op."""
    assert generators.layered(n).n_ops == n


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_layered_shape_sets_the_longest_path(shape):
    """√n / shape layers, each op with a parent in the layer before: that many ops on the longest path."""
    graph = generators.layered(400, shape=shape, seed=3)
    assert depth(graph) + 1 == 20 / shape


@pytest.mark.parametrize("degree", [1.0, 2.0, 5.0])
def test_layered_degree_is_the_mean_in_degree(degree):
    """Within 5 % of the requested inputs per op outside the first layer; an op drawn twice is one input."""
    graph = generators.layered(20_000, degree=degree, seed=1)
    inner = (np.diff(graph.pred_ptr) > 0).sum()
    assert graph.n_edges / inner == pytest.approx(degree, rel=0.05)


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("stages", [1, 4])
def test_fork_join_size(width, stages):
    """stages (width + 1) + 1 ops, 2 stages width edges, and each fork's tensor goes to all its branches."""
    graph = generators.fork_join(width, stages)
    assert (graph.n_ops, graph.n_edges) == (stages * (width + 1) + 1, 2 * stages * width)
    assert graph.n_tensors == stages * (width + 1)
    assert depth(graph) == 2 * stages


@pytest.mark.parametrize("width", [1, 2, 3, 8])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_stencil_size(width, steps):
    """width steps ops, (steps - 1)(3 width - 2) edges, only between neighbours of neighbouring steps."""
    graph = generators.stencil(width, steps)
    assert (graph.n_ops, graph.n_edges) == (width * steps, (steps - 1) * (3 * width - 2))
    step, cell = np.array([[int(part.strip("stepcl")) for part in name.split("/")] for name in graph.names]).T
    assert (step[graph.consumer] - step[graph.producer] == 1).all()
    assert (abs(cell[graph.consumer] - cell[graph.producer]) <= 1).all()


@pytest.mark.parametrize("m", [2, 3, 5, 20])
def test_gaussian_elimination_size(m):
    """(m² + m - 2) / 2 ops and m² - m - 1 edges; the critical path alternates pivots and updates: 2 (m - 1) ops."""
    graph = generators.gaussian_elimination(m)
    assert (graph.n_ops, graph.n_edges) == ((m * m + m - 2) // 2, m * m - m - 1)
    assert depth(graph) + 1 == 2 * (m - 1)


def test_gaussian_elimination_is_the_textbook_graph():
    """For a 3-by-3 matrix: pivot 1 feeds columns 2 and 3; column 2 becomes pivot 2, which with column 3 ends it."""
    graph = generators.gaussian_elimination(3)
    named = {(graph.names[u], graph.names[v]) for u, v in graph.edges}
    assert named == {
        ("step1/pivot", "step1/column2"),
        ("step1/pivot", "step1/column3"),
        ("step1/column2", "step2/pivot"),
        ("step1/column3", "step2/column3"),
        ("step2/pivot", "step2/column3"),
    }


@pytest.mark.parametrize("points", [1, 2, 4, 64])
def test_fft_size(points):
    """2 n - 1 recursive calls and n log₂ n butterflies; 2 (n - 1) + 2 n log₂ n edges."""
    graph = generators.fft(points)
    log = points.bit_length() - 1
    assert (graph.n_ops, graph.n_edges) == (2 * points - 1 + points * log, 2 * (points - 1) + 2 * points * log)


def test_every_fft_output_depends_on_every_leaf():
    """As in a Fourier transform, each of the n results needs all n points."""
    graph = generators.fft(8)
    G = nx.DiGraph([(graph.names[u], graph.names[v]) for u, v in graph.edges])
    leaves = {f"call{v}" for v in range(7, 15)}
    for i in range(8):
        assert leaves <= nx.ancestors(G, f"butterfly2/{i}")


def test_every_path_of_an_fft_is_critical():
    """Ops of a level cost the same, tensors between levels too (Topcuoglu 2002)."""
    graph = generators.fft(8, seed=5)
    down = np.zeros(graph.n_ops)
    for u, v in graph.edges:
        assert down[v] in (0, pytest.approx(down[u] + graph.compute[u]))
        down[v] = down[u] + graph.compute[u]


def test_par_is_n_reads_for_n_layers_that_share_nothing():
    """2 n ops, n edges, reads on servers, layers on workers."""
    graph = generators.par(32)
    assert (graph.n_ops, graph.n_edges, depth(graph)) == (64, 32, 1)
    assert [graph.device_sets[s] for s in graph.device_set[[graph.index("read7"), graph.index("layer7")]]] == [
        ("ps",),
        ("gpu",),
    ]
    assert graph.compute[graph.kind == "read"].sum() == 0


def test_seq_is_par_with_its_layers_in_a_chain():
    """2 n ops, 2 n - 1 edges; layer i needs read i and layer i - 1."""
    graph = generators.seq(32)
    assert (graph.n_ops, graph.n_edges, depth(graph)) == (64, 63, 32)
    names = {(graph.names[u], graph.names[v]) for u, v in graph.edges}
    assert names == {(f"read{i}", f"layer{i}") for i in range(1, 33)} | {
        (f"layer{i}", f"layer{j}") for i, j in pairwise(range(1, 33))
    }


@pytest.mark.parametrize("n", [1, 2, 10])
def test_fork_join_and_independent_sizes(n):
    """n ops; a fork's one tensor has n - 1 readers, a join's last op n - 1 inputs, and nothing joins the independent."""
    fork = generators.fork(n)
    join = generators.join(n)
    assert (fork.n_ops, join.n_ops) == (n, n)
    assert fork.producer.tolist() == [0] * (n - 1) and join.consumer.tolist() == [n - 1] * (n - 1)
    assert generators.independent(n).n_edges == 0


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 13, 40])
def test_trees_are_complete(n, degree):
    """n - 1 edges, at most `degree` children each, as few levels as that allows; the in-tree mirrors the out-tree."""
    out = generators.out_tree(n, degree)
    into = generators.in_tree(n, degree)
    assert out.n_edges == into.n_edges == n - 1
    assert np.diff(out.succ_ptr).max() <= degree and np.diff(into.pred_ptr).max() <= degree
    assert sum(degree**level for level in range(depth(out) if n > 1 else 0)) < n
    turned = {(n - 1 - int(v[2:]), n - 1 - int(u[2:])) for u, v in named(into)}
    assert turned == {(int(u[2:]), int(v[2:])) for u, v in named(out)}


@pytest.mark.parametrize(("stages", "items"), [(1, 1), (1, 4), (4, 1), (3, 5)])
def test_pipeline_size(stages, items):
    """s n ops, 2 s n - s - n edges; the longest path takes each stage and each item once."""
    graph = generators.pipeline(stages, items)
    assert (graph.n_ops, graph.n_edges) == (stages * items, 2 * stages * items - stages - items)
    assert (depth(graph) if graph.n_edges else 0) == stages + items - 2


@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("seed", range(3))
def test_series_parallel_graphs_fold_to_an_edge(n, seed):
    """Merging parallel edges and ops between two edges, again and again, leaves one edge: the definition."""
    graph = generators.series_parallel(n, seed=seed)
    assert graph.n_ops == n and (n == 1 or n - 1 <= graph.n_edges <= max(1, 2 * n - 3))
    G = nx.DiGraph(graph.edges.tolist())  # a DiGraph merges parallel edges by itself
    while inner := [v for v in G if G.in_degree(v) == G.out_degree(v) == 1]:
        (u,), (w,) = G.predecessors(inner[0]), G.successors(inner[0])
        G.remove_node(inner[0])
        G.add_edge(u, w)
    assert G.number_of_edges() == (n > 1)


@pytest.mark.parametrize(("n", "degree"), [(20_000, 3.0), (200, 20.0), (10, 99.0), (1, 2.0)])
def test_random_dag_degree_is_the_mean_in_degree(n, degree):
    """Within 5 % of the requested degree, no pair twice; at most every pair once."""
    graph = generators.random_dag(n, degree=degree)
    assert graph.n_edges == len(np.unique(graph.edges, axis=0))
    assert graph.n_edges / n == pytest.approx(min(degree, (n - 1) / 2), rel=0.05)


@pytest.mark.parametrize("n", [3, 10, 21, 30])
def test_every_structure_has_the_ops_asked_for(n):
    """The ten structures, all of one size, with the seed and costs given."""
    graphs = generators.structures(n, seed=3, ccr=10.0)
    assert len(graphs) == 10 and {graph.n_ops for graph in graphs.values()} == {n}
    assert same(graphs["fork"], generators.fork(n, seed=3, ccr=10.0))


def named(graph):
    """Edges as pairs of names."""
    return [(graph.names[u], graph.names[v]) for u, v in graph.edges.tolist()]


@pytest.mark.parametrize(("family", "size"), FAMILIES)
def test_the_seed_is_the_graph(family, size):
    """The same seed gives the same graph, another seed other costs."""
    assert same(family(*size, seed=4), family(*size, seed=4))
    assert not np.array_equal(family(*size, seed=4).compute, family(*size, seed=5).compute)


@pytest.mark.parametrize("ccr", [0.0, 0.1, 10.0])
def test_ccr_is_mean_transfer_over_mean_execution(ccr):
    """Within 5 % over 20,000 ops, on the preset's device and link."""
    graph = generators.layered(20_000, ccr=ccr, compute=3e8, seed=2)
    transfer = graph.tensor_bytes.mean() / 12e9
    execution = graph.compute.mean() / 1e13
    assert execution == pytest.approx(3e-5, rel=0.05)
    assert transfer / execution == pytest.approx(ccr, rel=0.05)


def test_heterogeneity_spreads_times_around_the_mean():
    """With β = 1 an op takes between half and one and a half times its mean on any device; with 0 the same on all."""
    graph = generators.layered(5000, heterogeneity=1.0, devices=("a", "b"), seed=2)
    factor = graph.time / (graph.compute[:, None] / 1e13)
    assert graph.time_types == ("a", "b")
    assert 0.5 <= factor.min() < 0.51
    assert 1.49 < factor.max() <= 1.5
    equal = generators.layered(100, devices=("a", "b"))
    assert np.array_equal(equal.time[:, 0], equal.time[:, 1])


def test_an_op_has_one_tensor_for_all_its_consumers():
    """Except that a call of the Fourier transform sends each child its half."""
    graph = generators.layered(2000, degree=4, seed=0)
    assert graph.n_tensors == len(np.unique(graph.tensor_producer))
    calls = generators.fft(4)
    assert np.diff(calls.op_tensor_ptr)[[calls.index(f"call{v}") for v in range(3)]].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: generators.layered(0), "n_ops is 0; expected a whole number from 1 to 2,000,000"),
        (lambda: generators.out_tree(6, 0), "degree is 0; expected a whole number from 1 to 2,000,000"),
        (lambda: generators.fft(6), "points is 6; expected a power of two"),
        (lambda: generators.gaussian_elimination(1), "m is 1"),
        (lambda: generators.stencil(2.5), "width is 2.5"),
        (
            lambda: generators.fork_join(2, devices="cpu"),
            "the devices of a generator needs a list or a tuple, found a str",
        ),
    ],
)
def test_bad_knobs_are_one_sentence(build, words):
    """The message names the argument, what was found and what was expected."""
    with pytest.raises(FormatError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: generators.layered(10, degree=0.5), "layered: degree is 0.5; expected a number, 1 to "),
        (lambda: generators.layered(10, degree=float("inf")), "degree is inf"),
        (lambda: generators.layered(10, shape="a"), "shape is 'a'; expected a number, above 0"),
        (lambda: generators.random_dag(6, degree=-1.0), "degree is -1.0; expected a number, 0 or more"),
        (lambda: generators.fork_join(2, heterogeneity=3), "costs: heterogeneity is 3; expected a number, 0 to 2"),
        (lambda: generators.fork_join(2, ccr=float("nan")), "ccr is nan"),
        (lambda: generators.fork_join(2, ccr="a"), "ccr is 'a'"),
        (lambda: generators.fork_join(2, colour=1), "'costs' has no option 'colour'; its options: compute, ccr"),
        (lambda: generators.par(2, size=-1), "par: size is -1"),
    ],
)
def test_bad_options_are_those_of_strategies(build, words):
    """The same error, from the same check."""
    with pytest.raises(UnsupportedError, match=words):
        build()


@pytest.mark.slow
def test_a_million_ops_are_built_from_arrays():
    """Only naming runs Python code per op; the largest family keeps its closed form at this size."""
    graph = generators.stencil(1000, 1000)
    assert (graph.n_ops, graph.n_edges) == (1_000_000, 999 * 2998)
