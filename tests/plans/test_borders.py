"""Borders are the best of all: goldens, and every split of small problems tried."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations
from math import inf

import numpy as np
import pytest

from placelab.base.errors import UnsupportedError
from placelab.plans import borders as module
from placelab.plans.borders import OBJECTIVES, Costs, Free, Given, Search


def costs(seconds, sizes, capacity, links=0.0, kept=None, microbatches=1) -> Costs:
    """Costs of blocks with so many bytes, and others per micro-batch in flight."""
    k = len(seconds)
    size = np.array(sizes, float)
    more = np.zeros(len(size)) if kept is None else np.array(kept, float)

    def ranges(first: slice, stage: int, stages: int) -> np.ndarray:
        summed = np.concatenate([[0.0], np.cumsum(size + min(microbatches, stages - stage) * more)])
        return summed[None, :] - summed[first, None]

    room = np.array(capacity, float)
    between = np.broadcast_to(np.array(links, float), (k, k))
    return Costs(np.array(seconds, float), between, room, room, ranges, kept is not None)


def counts(chain, k: int, given: bool) -> tuple[int, ...]:
    """Blocks of each device in its order."""
    found = [0] * k
    for place, (node, first, last) in enumerate(zip(chain.nodes, chain.borders, chain.borders[1:], strict=False)):
        found[node if given else place] = last - first
    return tuple(found)


SPEEDS = [4, 2, 1, 1]


@pytest.mark.parametrize(
    ("objective", "capacity", "empty", "expected", "value"),
    [
        ("stage", [inf] * 4, False, (16, 8, 4, 4), 4),
        ("stage", [12, 12, 8, 8], False, (12, 10, 5, 5), 5),
        ("memory", [12, 12, 8, 8], False, (10, 10, 6, 6), 5 / 6),
        ("sum", [12, 12, 8, 8], False, (12, 12, 1, 7), 17),
        ("sum", [12, 12, 8, 8], True, (12, 12, 0, 8), 17),
        ("sum", [inf] * 4, True, (32, 0, 0, 0), 8),
    ],
)
def test_thirty_two_equal_layers(objective, capacity, empty, expected, value):
    """Golden L1: speeds 4, 2, 1, 1 and memories that do not fit them; ties go to the least numbers."""
    chain = Search(costs([[1 / s] * 32 for s in SPEEDS], [1] * 32, capacity), Given(4, empty), objective, {}).best()
    assert counts(chain, 4, True) == expected and chain.value == pytest.approx(value, rel=1e-12)


def splits(n: int, k: int, empty: bool) -> Iterator[tuple[int, ...]]:
    """Every way to give n blocks to k devices in their order."""
    for cuts in combinations_with_replacement(range(n + 1), k - 1):
        found = tuple(b - a for a, b in zip((0, *cuts), (*cuts, n), strict=True))
        if empty or min(found) > 0:
            yield found


def worth(split, order, question, objective) -> float:
    """The value of one split, devices in an order; inf where it does not fit."""
    used = [(d, n) for d, n in zip(order, split, strict=True) if n]
    at = 0
    values = []
    for stage, (d, n) in enumerate(used):
        held = min(question["microbatches"], len(used) - stage)
        size = sum(question["sizes"][at : at + n]) + held * sum(question["kept"][at : at + n])
        if size > question["capacity"][d]:
            return inf
        link = question["links"][d][used[stage + 1][0]] if stage + 1 < len(used) else 0
        values.append(
            size / question["capacity"][d] if objective == "memory" else sum(question["seconds"][d][at : at + n]) + link
        )
        at += n
    return sum(values) if objective == "sum" else max(values)


def drawn(source: random.Random, most: int, k: int) -> dict:
    """A small question of whole numbers, so that ties are exact."""
    n = source.randint(k, most)
    blocks = [source.randint(1, 5) for _ in range(n)]
    speeds = [source.choice([1, 2, 4]) for _ in range(k)]
    return dict(
        seconds=[[4 * b / s for b in blocks] for s in speeds],
        sizes=[source.randint(1, 4) for _ in range(n)],
        kept=[source.randint(0, 2) for _ in range(n)] if source.random() < 0.5 else [0] * n,
        microbatches=source.randint(1, 4),
        capacity=[source.randint(3, 24) for _ in range(k)],
        links=[[source.randint(0, 2) for _ in range(k)] for _ in range(k)],
    )


@pytest.mark.parametrize("tries", [250, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_of_all_splits(objective, empty, tries):
    """Value and numbers are those of the first of the best among all splits, with fixed borders, links and stages that count;
    9,000 random questions, of which 1,500 each time."""
    source = random.Random(f"{objective} {empty}")
    feasible = 0
    for _ in range(tries):
        k = source.randint(1, 4)
        question = drawn(source, 9, k)
        n = len(question["sizes"])
        fixed = {source.randrange(k - 1): [source.randint(0, n)]} if k > 1 and source.random() < 0.3 else {}
        tried = [s for s in splits(n, k, empty) if all(sum(s[: b + 1]) in at for b, at in fixed.items())]
        values = {s: worth(s, range(k), question, objective) for s in tried}
        least = min(values.values(), default=inf)
        chain = Search(costs(**question), Given(k, empty), objective, fixed).best()
        assert (chain is None) == (least == inf)
        if chain is not None:
            feasible += 1
            assert chain.value == pytest.approx(least, rel=1e-12)
            assert counts(chain, k, True) == min(s for s, v in values.items() if v <= least * (1 + 1e-12))
    assert feasible > tries / 3.2


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_more_never_hurts(objective):
    """A faster device, a quicker link or more memory: no worse value, and what fitted still fits."""
    source = random.Random(objective)
    for _ in range(80):
        k = source.randint(1, 4)
        less = drawn(source, 9, k)
        d = source.randrange(k)
        faster = [[s / 2 for s in row] if e == d else row for e, row in enumerate(less["seconds"])]
        nearer = [[0 if e == d else link for link in row] for e, row in enumerate(less["links"])]
        roomy = [2 * room if e == d else room for e, room in enumerate(less["capacity"])]
        empty = source.random() < 0.5
        first = Search(costs(**less), Given(k, empty), objective, {}).best()
        for change in (dict(seconds=faster), dict(links=nearer), dict(capacity=roomy)):
            chain = Search(costs(**(less | change)), Given(k, empty), objective, {}).best()
            assert first is None or chain.value <= first.value * (1 + 1e-12)


@pytest.mark.parametrize("tries", [70, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_free_order_is_the_best_of_all_orders(objective, tries):
    """Devices of two or three types: as good as the best permutation, with the first of its numbers; 600 random questions, of
    which 210 each time."""
    source = random.Random(objective)
    feasible = 0
    for _ in range(tries):
        kinds = source.randint(1, 3)
        empty = source.random() < 0.4
        question = drawn(source, 7, kinds)
        number = [source.randint(1, 4 - kinds) if kinds > 1 else source.randint(1, 3) for _ in range(kinds)]
        k = sum(number)
        n = len(question["sizes"])
        orders = set(permutations([c for c, times in enumerate(number) for _ in range(times)]))
        values = {(s, o): worth(s, o, question, objective) for o in orders for s in splits(n, k, empty)}
        values = {key: value for key, value in values.items() if value < inf}
        chain = Search(costs(**question), Free(tuple(number), empty), objective, {}).best()
        assert (chain is None) == (not values)
        if chain is not None:
            feasible += 1
            least = min(values.values())
            assert chain.value == pytest.approx(least, rel=1e-12)
            good = [s for (s, _), v in values.items() if v <= least * (1 + 1e-12)]
            first = min(tuple(x for x in s if x) for s in good) if empty else min(good)
            assert tuple(x for x in counts(chain, k, False) if x) == first
    assert feasible > tries / 2.9


def test_large_tables_are_cut(monkeypatch):
    """Ranges of a few first blocks at a time give the same answer."""
    question = dict(seconds=[[1, 2, 3, 4, 5, 6, 7], [2] * 7, [1] * 7], sizes=[1] * 7, capacity=[7] * 3)
    whole = Search(costs(**question), Given(3), "stage", {}).best()
    monkeypatch.setattr(module, "CELLS", 16)
    assert Search(costs(**question), Given(3), "stage", {}).best() == whole
    monkeypatch.setattr(module, "MOST_WORK", 100)
    with pytest.raises(UnsupportedError, match="7 blocks on 3 devices have too many ranges"):
        Search(costs(**question), Given(3), "stage", {}).best()
