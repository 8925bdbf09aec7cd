"""Orders in which workers read their parameters: Hashemi's figures on his four networks, beside the published ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
from markdown_table import table

import placelab as pl
from placelab.base.units import seconds

NETWORKS = ("alexnet", "vgg16", "inception_v2", "resnet_v2_152")
WORKERS = (1, 2, 4, 8)
RUNS = 1000
RATE = 125e6  # bytes/s
RATIO = 0.95  # compute over communication of a worker, as Hashemi chose batches
NOISE = 0.5
HANDOFF = 0.01  # of a transfer
PS3 = {1: (0.604, 0.0), 2: (0.647, 10.0), 4: (0.663, 14.6), 8: (0.670, 19.7)}  # prototype, 60 seeds: s, straggling in %


def read_orders() -> str:
    """Random orders, TIC and TAC for 1 to 8 workers; what Hashemi 2018 reports; extremes; the prototype's numbers."""
    found = {(name, w): Orders(job(name, w)) for name in NETWORKS for w in WORKERS}
    return f"""## Read orders

*Forward passes of Hashemi's four networks* (2018, §3), whose workers read all parameters from one server at {RATE / 1e6:g} MB/s,
a channel each. Op times are those measured on one CPU core, scaled so that a worker computes {RATIO:g} times as long as its
channel is busy: Hashemi chose batches so that the *potential* (U − L)/L exceeds 90 %. *Random*: {RUNS:,} runs of
`random-reads`, mean step time with standard deviation, mean E of the worst worker, and mean straggling. The other columns are one
run each, as nothing in them is random.

{grid(found)}
{published(found)}
*Extremes*: 32 layers, reads and layers of 1 s each. Enforcing an order costs {HANDOFF:g} s per read (`handoff`). Hashemi: in
Par-32 all orders are equal, and it loses a little by the hand-over; in Seq-32 one order of 32! is optimal.

{extremes()}
*The prototype's table* (`inception_v2`, 60 seeds of `random`) and the rows above; *apart* in standard errors of the prototype's
mean.

{prototype(found)}"""


class Orders:
    """Runs of one job: random orders, TIC, TAC."""

    def __init__(self, problem: pl.Problem, noise: float = 0.0, runs: int = RUNS) -> None:
        placement = pl.place(problem, "hash")
        fixed = runs if noise else 1
        run = lambda name, n: pl.iterations(problem, placement, name, runs=n, noise=noise)  # noqa: E731
        self.random = run("random-reads", runs)
        self.tic = run("tic", fixed)
        self.tac = run("tac", fixed)

    @property
    def shorter(self) -> float:
        """Share of the mean random step that TIC saves."""
        return 1 - self.tic["step"].mean() / self.random["step"].mean()


def job(name: str, workers: int) -> pl.Problem:
    """The forward pass of a network on workers and one server."""
    graph = pl.transforms.model_replica(pl.load(name), workers, training=False)
    replica = graph.metadata["replica"]
    first = np.array(replica["worker"]) == 0
    read = np.array(replica["roles"])[replica["role"]] == "read"
    took = np.where(read, 0.0, np.nan_to_num(graph.time[:, graph.time_types.index("cpu")]))
    scale = RATIO * graph.outputs[first & read].sum() / RATE / took[first].sum()
    graph = graph.replace(compute=scale * took, time=None, time_types=())
    return pl.Problem(graph, server(workers, RATE), transfers="channel")


def server(workers: int, rate: float) -> pl.Cluster:
    """One server and workers, 1 operation/s each, links without latency."""
    names = ["ps:0", *(f"worker:{w}" for w in range(workers))]
    types = ["ps"] + ["gpu"] * workers
    return pl.Cluster([1.0] * len(names), bandwidth=rate, latency=0.0, names=names, types=types)


def spread(frame: pd.DataFrame) -> str:
    """Mean and standard deviation of the step."""
    return f"{seconds(frame['step'].mean())} ± {seconds(frame['step'].std(ddof=0))}"


def percent(share: float) -> str:
    """With one digit."""
    return f"{100 * share:.1f} %"


def grid(found: dict[tuple[str, int], Orders]) -> str:
    """A row per network and number of workers."""
    rows = []
    for (name, workers), orders in found.items():
        random = orders.random
        cells = [f"{random['efficiency'].mean():.3f}", percent(random["straggling"].mean())]
        for frame in (orders.tic, orders.tac):
            cells += [seconds(frame["step"].mean()), f"{frame['efficiency'].mean():.3f}"]
        potential = percent(random["potential"].mean())
        rows.append([name, str(workers), potential, spread(random), *cells, percent(orders.shorter)])
    head = "network, workers, potential, random, E, straggling, TIC, E, TAC, E, TIC saves".split(", ")
    return table(head, rows)


def published(found: dict[tuple[str, int], Orders]) -> str:
    """Each number in the text of Hashemi 2018 beside ours; its figures 2 and 3 are pictures without numbers."""
    inception = found["inception_v2", 1]
    resnet = found["resnet_v2_152", 1]
    noisy = Orders(job("inception_v2", 1), NOISE)
    sd = [1e3 * frame["step"].std(ddof=0) for frame in (inception.random, noisy.random, noisy.tic)]
    e = [orders.random["efficiency"].mean() for orders in (inception, resnet)]
    gained = resnet.tic["efficiency"].mean() - e[1]
    apart = max(abs(o.tic["step"].mean() / o.tac["step"].mean() - 1) for o in found.values())
    most = RATIO / (1 + RATIO)
    points = 1 - 1 / (1 + 0.78 * RATIO)
    sizes = pl.load("alexnet").persistent
    share = sizes.max() / sizes.sum()
    rows = [
        ["Inception-V2, 1 worker: step shorter by", "46 %", percent(inception.shorter)],
        ["Inception-V2: standard deviation, random", "187.1 ms", f"{sd[0]:.1f} ms"],
        [f"the same, costs vary by ± {100 * NOISE:g} %", "187.1 ms", f"{sd[1]:.1f} ms"],
        ["in order", "48.3 ms", f"{sd[2]:.1f} ms"],
        ["random over in order", "3.9", f"{sd[1] / sd[2]:.1f}"],
        ["ResNetV2-152: E higher by", "78 %", f"{100 * gained:.1f} points"],
        ["ResNetV2-152: throughput higher by", "65 %", percent(1 / (1 - resnet.shorter) - 1)],
        ["TIC against TAC, largest difference of a step", "5 %", percent(apart)],
    ]
    return f"""*Beside the numbers in the text of the paper*, its figures 2 and 3 being pictures:

{table(["", "Hashemi 2018", "here"], rows)}
- *Savings.* With U = {1 + RATIO:g} L an order saves at most {percent(most)} of a step, that of a step without any overlap. The
  published 46 % therefore say that TensorFlow without enforcement hardly overlapped on Inception-V2; uniformly random orders
  overlap a little more (E {e[0]:.2f}), which leaves less to save. With the {reads("resnet_v2_152")} parameters of ResNetV2-152
  they leave almost no overlap, and more is saved here than in the paper.
- *78 % and 65 %.* If E rose by 78 points up to 1, unenforced orders had E .22, and an order saves {percent(points)}; 65 % more
  throughput are {percent(1 - 1 / 1.65)} saved, from an E of {1 - 0.65 / RATIO:.2f}. Either way, what TensorFlow did there on its
  own was better than uniformly random orders (E {e[1]:.2f}).
- *Standard deviations.* The paper gives neither batch nor mean step, so that milliseconds cannot be compared. In the simulator an
  order in force has no spread at all; what it has when costs vary, and the ratio with it, follows from the variation that is
  assumed: a factor from U({1 - NOISE:g}, {1 + NOISE:g}) for each op and tensor.
- *AlexNet* spreads most with one worker: one parameter has {share:.0%} of all bytes, and its place in the order decides.
- *TIC and TAC* give the same times; the networks are nearly chains, in which the number of reads tells as much as times do.
- *More workers*: a step ends with the slowest worker, and each draws an order; in order none waits for another.
"""


def reads(name: str) -> int:
    """Number of a network's parameters."""
    return len(pl.transforms.model_replica(pl.load(name), 1, training=False).metadata["replica"]["parameters"])


def extremes() -> str:
    """Seq-32 and Par-32, random and in order."""
    rows = []
    for name, graph in (("Seq-32", pl.generators.seq(32)), ("Par-32", pl.generators.par(32))):
        problem = pl.Problem(graph, server(1, 1.0), transfers="channel")
        placement = pl.place(problem, "heft")
        random = pl.iterations(problem, placement, "random-reads", runs=RUNS)
        tic = pl.iterations(problem, placement, "tic", runs=1)
        late = pl.iterations(problem, placement, "tic", runs=1, handoff=HANDOFF)
        e = [f"{frame['efficiency'].mean():.3f}" for frame in (random, tic)]
        steps = [f"{frame['step'].mean():.2f} s" for frame in (tic, late)]
        gain = percent(random["step"].mean() / late["step"].mean() - 1)
        rows.append([name, spread(random), e[0], steps[0], e[1], steps[1], gain])
    return table("model, random, E, TIC, E, TIC with hand-over, throughput with hand-over".split(", "), rows)


def prototype(found: dict[tuple[str, int], Orders]) -> str:
    """PS3: random orders of inception_v2 by workers."""
    rows = []
    for workers, (step, straggling) in PS3.items():
        frame = found["inception_v2", workers].random
        error = frame["step"].std(ddof=0) / 60**0.5
        here = [f"{frame['step'].mean():.3f} s", percent(frame["straggling"].mean())]
        apart = f"{(frame['step'].mean() - step) / error:+.1f}"
        rows.append([str(workers), f"{step:.3f} s", here[0], apart, f"{straggling:.1f} %", here[1]])
    return table("workers, prototype, here, apart, prototype's straggling, here".split(", "), rows)
