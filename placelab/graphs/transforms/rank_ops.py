"""Copies of a graph on ranks, in program order, and the collectives between them on their streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.collective_hops import Hops, hops
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments

BACKWARD = ".backward"  # suffixes of the ops of a forward op, as the next two
WEIGHTS = ".weight_gradient"
UPDATE = ".update"
MOVES = {"all-to-all": "exchange"}


def forward_names(graph: OpGraph) -> list[tuple[str, str]]:
    """Of each op the name of the forward op that it belongs to, and its suffix, "" for the forward op itself."""
    found = []
    for name in graph.names.tolist():
        suffix = next((end for end in (BACKWARD, WEIGHTS, UPDATE) if name.endswith(end)), "")
        found.append((name.removesuffix(suffix), suffix))
    return found


def check_ops(ranks: int, n: int) -> None:
    """Refuse ranks that have more ops than are made; before they take memory, where `n` is known by then."""
    if n > MAX_OPS:
        raise FormatError(f"{ranks:,} ranks have {n:,} ops or more; at most {MAX_OPS:,} are made, so give less")


class RankOps:
    """Ops on devices ``worker:w``, numbered w, and on their streams ``worker:w/stream``, numbered ``ranks + w``.

    A rank runs its copies one after the other, in the order in which they are added. Collectives of one queue run one after the
    other on the stream of each rank.
    """

    def __init__(self, model: OpGraph, ranks: int, algorithm: str = "ring") -> None:
        check_ops(ranks, ranks * model.n_ops)
        self.model = model
        self.ranks = ranks
        self.algorithm = algorithm
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.columns: dict[str, list[np.ndarray]] = {"device": [], "cost": [], "first": []}
        self.edges: list[tuple[np.ndarray, ...]] = []  # producers, consumers, bytes, outputs, whether they only order
        self.copies: list[np.ndarray] = []
        self.held = np.zeros(model.n_ops, bool)  # whether an op has a copy, which holds its persistent bytes
        self.last: np.ndarray | None = None  # ops that ranks run last so far, shape (1, ranks)
        self.before: dict[str, list[np.ndarray]] = {}  # of each queue what the next collective waits for, by rank
        self.steps: dict[tuple[str, int], Hops] = {}

    def add(
        self, names: Iterable[str], kind: str | Iterable[str], device: Any, cost: Any = -1, first: Any = True
    ) -> Any:
        """Numbers of new ops; `cost` is the op of the model that they copy, `first` whether they hold its persistent bytes."""
        made = len(self.names)
        names = list(names)
        self.names += names
        self.kinds += [kind] * len(names) if isinstance(kind, str) else list(kind)
        for label, value in (("device", device), ("cost", cost), ("first", first)):
            self.columns[label].append(np.broadcast_to(value, len(names)))
        check_ops(self.ranks, len(self.names))
        return np.arange(made, made + len(names))

    def copy(self, order: Sequence[int], prefix: str = "", into: np.ndarray | None = None) -> np.ndarray:
        """Add a copy of the model on each rank, whose ops run in `order`; numbers, shape (n_ops, ranks); -1: not in `order`.

        With `into`, what this returned, it goes on with that copy.
        """
        ranks = range(self.ranks)
        kinds = self.model.kind
        number = np.full((self.model.n_ops, self.ranks), -1) if into is None else into
        if into is None:
            self.copies.append(number)
        if not len(order):
            return number
        own = self.model.names[list(order)].tolist()
        made = self.add(
            [f"w{w}/{prefix}{name}" for name in own for w in ranks],
            [kind for kind in kinds[list(order)].tolist() for _ in ranks],
            np.tile(np.arange(self.ranks), len(own)),
            np.repeat(np.array(order), self.ranks),
            np.repeat(~self.held[list(order)], self.ranks),
        ).reshape(-1, self.ranks)
        self.held[list(order)] = True
        number[list(order)] = made
        if self.last is not None:
            self.wait(self.last, made[:1])
        self.wait(made[:-1], made[1:])
        self.last = made[-1:]
        return number

    def wait(self, producers: Any, consumers: Any, size: Any = 0.0, output: Any = None) -> None:
        """Edges between ops, pairs broadcast: they only order, or carry the producer's `output` of `size` bytes."""
        u, v = (column.ravel() for column in np.broadcast_arrays(producers, consumers))
        columns = (size, 0 if output is None else output, output is None)
        self.edges.append((u, v, *(np.broadcast_to(column, len(u)) for column in columns)))

    def collective(
        self,
        label: str,
        kind: str,
        size: float,
        after: Sequence[np.ndarray],
        *,
        queue: str = "",
        groups: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """Add a collective within each group of ranks; what each rank has to wait for.

        Parameters
        ----------
        size
            Bytes of the whole vector.
        after
            Ops that each rank waits for, each array with one per rank.
        queue
            Collectives of one queue follow each other; each is ready on a rank when the one before is over there.
        groups
            Ranks by group; None: all of them.
        """
        every = np.arange(self.ranks)
        before = self.before.get(queue)
        found: list[np.ndarray] = [every[:0]] * self.ranks
        ready = self.add([f"{label}/ready@{w}" for w in every], "ready", self.ranks + every)
        for each in after:
            self.wait(each, ready)
        if before is not None:
            self.wait(np.concatenate(before), np.repeat(ready, [len(last) for last in before]))
        for members in [every] if groups is None else groups:
            steps = self._hops(kind, len(members))
            at = members[steps.destination]
            words = np.where(steps.gather, "gather", MOVES.get(kind, "reduce")).tolist()
            hop = self.add(
                [f"{label}/{word}{h}@{w}" for h, (word, w) in enumerate(zip(words, at.tolist(), strict=True))],
                words,
                self.ranks + at,
            )
            things = np.concatenate([ready[members], hop])
            joins = steps.joined >= 0
            self.wait(things[steps.sent], hop, size * steps.share, np.arange(len(hop)))
            self.wait(things[steps.joined[joins]], hop[joins])
            self.wait(things[steps.waits[:, 0]], hop[steps.waits[:, 1]])
            for w, last in zip(members.tolist(), steps.last, strict=True):
                found[w] = things[last]
        self.before[queue] = found
        return found

    def _hops(self, kind: str, n: int) -> Hops:
        if (kind, n) not in self.steps:
            self.steps[kind, n] = hops(self.algorithm, n, kind)
        return self.steps[kind, n]

    def then(self, last: Sequence[np.ndarray], consumers: np.ndarray) -> None:
        """Let an op of each rank wait for what :meth:`collective` returned."""
        self.wait(np.concatenate(last), np.repeat(consumers, [len(each) for each in last]))

    def graph(self, compute: Any, persistent: Any, tensors: Any, metadata: Mapping[str, Any]) -> OpGraph:
        """The graph, every op tied to its device; factors of the model's costs per op, and of its bytes per tensor."""
        model = self.model
        device, cost, first = (np.concatenate(self.columns[label]) for label in ("device", "cost", "first"))
        known = cost >= 0
        factor, held = (np.broadcast_to(given, model.n_ops)[cost] for given in (compute, persistent))
        of = lambda column, factors: np.where(known, column[cost] * factors, 0.0)  # noqa: E731
        sizes = model.tensor_bytes * np.broadcast_to(tensors, model.n_tensors)
        unread = np.ones(model.n_tensors, bool)
        unread[model.edge_tensor] = False
        unread &= ~model.tensor_control
        outputs = []
        for number in self.copies:
            here = (number[model.producer, 0] >= 0) & (number[model.consumer, 0] >= 0)
            carried = model.edge_tensor[here]
            free = np.flatnonzero(unread & (number[model.tensor_producer, 0] >= 0))
            for w in range(self.ranks):
                of_edges = (sizes[carried], carried, model.tensor_control[carried])
                self.edges.append((number[model.producer[here], w], number[model.consumer[here], w], *of_edges))
                outputs += [(int(number[model.tensor_producer[t], w]), int(t), float(sizes[t])) for t in free]
        u, v, moved, output, control = (np.concatenate(parts) for parts in zip(*self.edges, strict=True))
        workers = [f"worker:{w}" for w in range(self.ranks)]
        ties = [(name,) for name in [*workers, *(f"{name}/stream" for name in workers)]]
        return OpGraph.from_arrays(
            self.names,
            of(model.compute, factor),
            np.stack([u, v], axis=1),
            edge_bytes=moved,
            edge_output=output,
            edge_control=control,
            outputs=outputs,
            persistent=of(model.persistent, held) * first,
            temporary=of(model.temporary, factor),
            kind=self.kinds,
            **time_arguments(model, lambda time: np.where(known[:, None], time[cost] * factor[:, None], np.nan)),
            devices={op: ties[d] for op, d in enumerate(device.tolist())},
            metadata=metadata,
        )
