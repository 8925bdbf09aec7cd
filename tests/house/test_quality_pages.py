"""Tables of programs that run for minutes can be reproduced: a few of their rows are computed, other ones each day.

What else is on a page follows from its rows. Seconds are not compared. Where a row differs, run the program that writes its page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from math import inf
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import TypeVar

import numpy as np
import pytest

import placelab as pl
from placelab.pictures.study_figures import StrategyTable, profile

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "quality")]

import exact  # noqa: E402
import known_costs  # noqa: E402
import learned  # noqa: E402
import performance_profile  # noqa: E402
import proven  # noqa: E402

README = BENCHMARKS / "README.md"
LONG = {"sct", "m-sct", "hbmct"}  # partitioners that take more than five seconds for the problems of the profile
Row = TypeVar("Row")


def of_today(rows: Sequence[Row], count: int) -> list[Row]:
    """So many of the rows; the next day the next ones."""
    begin = date.today().toordinal() * count
    return [rows[(begin + i) % len(rows)] for i in range(min(count, len(rows)))]


def cells(line: str) -> list[str]:
    """The cells of one line."""
    return [cell.strip() for cell in line[1:-1].split("|")]


def tables(page: Path) -> list[list[list[str]]]:
    """The tables of a page, the head first, as the cells of each line."""
    lines = [re.findall(r"^\|(?! ---).*\|$", part, re.MULTILINE) for part in page.read_text().split("\n\n")]
    return [[*map(cells, part)] for part in lines if part]


# -------------------------------------------------------------------- profile.md


def test_the_profile_has_each_partitioner_once_the_best_first():
    """Head and order are as the program writes them; each partitioner has a line and a curve."""
    ((_, *rows),) = tables(performance_profile.PAGE)
    problems = performance_profile.problems()
    nothing = StrategyTable((), (), np.empty((0, 0)))
    assert performance_profile.PAGE.read_text().startswith(performance_profile.page(nothing, [], len(problems)))
    assert [name for name, *_ in rows] == sorted(
        performance_profile.strategies(), key=lambda name: next((float(row[1]), name) for row in rows if row[0] == name)
    )
    curves = re.findall(r'font-weight="600">([^<]*)</text>', performance_profile.PICTURE.read_text())
    assert sorted(", ".join(curves).split(", ")) == sorted(name for name, *_ in rows)


def lines_of_the_profile(names: list[str]) -> None:
    """Compare lines and curves of partitioners with the committed ones, by the committed least makespans."""
    problems = performance_profile.problems()
    best = json.loads(performance_profile.BEST.read_text())
    own = performance_profile.compared(problems, names)
    assert list(own.problems) == list(best)
    least = np.array(list(best.values()))
    assert (own.makespan >= least[:, None]).all(), "profile.json has problems that are solved better now"
    found = StrategyTable(own.problems, ("best", *own.strategies), np.column_stack([least, own.makespan]))
    ((_, *rows),) = tables(performance_profile.PAGE)
    picture = performance_profile.PICTURE.read_text()
    for s in range(1, len(found.strategies)):
        assert performance_profile.row(found, s) in rows
        drawn = [
            performance_profile.steps(*profile(found, s, ticks[-1]), performance_profile.left_of(panel), ticks[-1])
            for panel, ticks in enumerate(performance_profile.TICKS)
        ]
        assert any(f'"{path}"' in picture for path in drawn), found.strategies[s]


def test_a_line_of_the_profile_reproduces():
    """One quick partitioner's figures and curve on all 324 problems."""
    names = [name for name in performance_profile.strategies() if name not in LONG]
    lines_of_the_profile(of_today(names, 1))


@pytest.mark.slow
def test_lines_of_the_profile_reproduce():
    """Three more, slow ones among them."""
    names = performance_profile.strategies()
    lines_of_the_profile(of_today(names[::-1], 3))


# -------------------------------------------------------------------- proven.md


def committed_proofs() -> dict[str, list[str]]:
    """Lines of the page by model and box."""
    ((_, *rows),) = tables(proven.PAGE)
    return {row[0]: row for row in rows}


def plans_are_as_committed(labels: list[str]) -> None:
    """Plan, bound and what is between them of these lines."""
    committed = committed_proofs()
    cases = proven.labels(proven.models())
    for label in labels:
        assert list(proven.row(label, proven.solved(*cases[label])))[:6] == committed[label][:6]


def test_the_page_of_proven_plans_sums_up_its_lines():
    """Each model is there in each box; mean, largest and the counts are those of the lines."""
    committed = committed_proofs()
    assert list(committed) == list(proven.labels(proven.models()))
    text = proven.PAGE.read_text()
    numbers = re.search(
        r"Mean (\S+) %, before (\S+) %; largest (\S+) %; above 20 %: (\d+) of (\d+); proven optimal: (\d+) of\s(\d+)",
        text,
    )
    *shares, far, count, optimal, again = map(float, numbers.groups())
    above = [float(row[4]) for row in committed.values()]
    before = [float(row[5]) for row in committed.values()]
    assert shares == [pytest.approx(mean(above), abs=0.1), pytest.approx(mean(before), abs=0.1), max(above)]
    assert (far, count, again) == (sum(gap > proven.FAR for gap in above), len(above), len(above))
    assert optimal <= sum(gap == 0 for gap in above)
    head = proven.HEAD.partition("writes this file")[2].partition("*Plan*")[2].partition("Mean")[0]
    assert head in text


def test_plans_of_small_models_are_as_near_their_bounds_as_committed():
    """Three of those that take less than a second."""
    quick = [label for label, row in committed_proofs().items() if float(row[6]) < 0.7]
    plans_are_as_committed(of_today(quick, 3))


@pytest.mark.slow
def test_a_plan_of_a_larger_model_is_as_near_its_bound_as_committed():
    """One that takes less than twenty seconds."""
    longer = [label for label, row in committed_proofs().items() if 0.7 <= float(row[6]) < 20]
    plans_are_as_committed(of_today(longer, 1))


# -------------------------------------------------------------------- exact.md


def test_the_page_of_the_exact_solver_is_what_its_program_writes():
    """All text, with the cells as they are; no graph could be cut."""
    (_, *rows), (_, *lacking) = tables(exact.PAGE)
    assert [label for label, *_ in rows] == [label for n in (50, 100) for label, _ in exact.graphs(n)]
    assert [variant for variant, *_ in lacking] == list(exact.VARIANTS)
    text = exact.PAGE.read_text()
    shared = int(re.search(r"\((\d+); that follows", text)[1])
    cut = sum(exact.cuts(problem) for n in (50, 100) for _, problem in exact.graphs(n))
    assert exact.page(30.0, "", rows, lacking, shared, cut) == text


def gaps_are_as_committed(cells: list[tuple[str, int]]) -> None:
    """Gaps of a variant on the graphs of 50 ops, by half of the work that the first table has."""
    _, (_, *lacking) = tables(exact.PAGE)
    committed = {variant: gaps for variant, *gaps in lacking}
    for variant, number in cells:
        found, *_ = exact.measured((variant, 50, number, 30.0 / exact.LESS))
        assert found == committed[variant][number], (variant, number)


def test_the_exact_solver_proves_what_it_proved():
    """A graph of 50 ops that takes two seconds, and another one without a part of the solver."""
    (_, *rows), _ = tables(exact.PAGE)
    quick = [number for number, row in enumerate(rows[:6]) if float(row[2]) < 3]
    for number in of_today(quick, 1):
        found, *_ = exact.measured((next(iter(exact.VARIANTS)), 50, number, 30.0))
        assert found == rows[number][1]
    gaps_are_as_committed([(variant, quick[0]) for variant in of_today(list(exact.VARIANTS), 1)])


@pytest.mark.slow
def test_the_exact_solver_comes_as_far_as_it_came():
    """One gap after fifteen seconds of work, of the solver as it is or without a part."""
    gaps_are_as_committed(of_today([(variant, number) for number in range(3, 5) for variant in exact.VARIANTS], 1))


# -------------------------------------------------------------------- adversaries.md


@pytest.fixture
def adversaries() -> ModuleType:
    """The program, imported anew, as its own strategies leave the catalogue after each test."""
    sys.modules.pop("adversaries", None)
    return import_module("adversaries")


def ratios(program: ModuleType) -> dict[str, dict[tuple[str, str], float]]:
    """The committed ratio of each pair, by search."""
    _, *searches = tables(program.PAGE)
    return {
        search: {
            (row[0], b): inf if cell == "> 1000" else float(cell)
            for row in rows
            for b, cell in zip(head[1:-1], row[1:-1], strict=True)
            if cell
        }
        for search, (head, *rows) in zip(program.SEARCHES, searches, strict=True)
    }


def test_the_page_of_adversaries_is_what_its_program_writes(adversaries):
    """All text and sums, with the cells as they are; the first of the lucky numbers is that of the table."""
    text = adversaries.PAGE.read_text()
    committed = ratios(adversaries)
    said = re.search(r"`single` (.*) times with the published rule, (.*) with its ranges, (.*) with the other", text)
    luck = dict(zip(adversaries.SEARCHES, said.groups(), strict=True))
    assert adversaries.page(10, committed, luck) == text
    for search, found in luck.items():
        assert found.split(", ")[0] == adversaries.written(committed[search]["heft", "single"])


def searches_of_today(program: ModuleType, count: int) -> list[tuple[str, tuple[str, str]]]:
    """Some pairs, each with one of the rules."""
    return of_today([(search, pair) for pair in program.PAIRS for search in program.SEARCHES], count)


def test_one_search_finds_no_worse_problem_than_the_committed_one(adversaries):
    """The first of the ten restarts, of a pair by each rule."""
    committed = ratios(adversaries)
    for search, pair in searches_of_today(adversaries, 3):
        found = adversaries.written(adversaries.ratio(*pair, 1, search))
        assert float(found.replace("> 1000", "inf")) <= committed[search][pair], (search, pair)


@pytest.mark.slow
def test_a_ratio_of_adversaries_reproduces(adversaries):
    """One pair by one rule, with all restarts."""
    committed = ratios(adversaries)
    for search, pair in searches_of_today(adversaries, 1):
        found = adversaries.ratio(*pair, 10, search)
        assert adversaries.written(found) == adversaries.written(committed[search][pair]), (search, pair)


# -------------------------------------------------------------------- tables of the README


def lines(begin: str) -> list[list[str]]:
    """The cells of the README's lines that begin so."""
    return [row for rows in tables(README) for row in rows if row[0] == begin]


def steps_are_as_committed(box: str, name: str, units: str = "", options: dict[str, str] | None = None) -> None:
    """All cells of one line but the seconds that placing took."""
    given = options or {}
    problem = pl.Problem(pl.load("inception_v3"), getattr(pl.clusters, box)(4))
    found = cells(learned.line(box, name, given.get("start", ""), units, *learned.timed(problem, name, given)))
    assert [*found[:7], found[8]] in [[*row[:7], row[8]] for row in lines(box)]


def test_steps_of_list_schedulers_beside_learned_placement_reproduce():
    """Two of the rows of list schedulers."""
    for box, name in of_today([(box, name) for box in learned.BOXES for name in learned.LISTS], 2):
        steps_are_as_committed(box, name)


@pytest.mark.slow
def test_steps_of_learned_placement_reproduce():
    """One of the rows of ``cem``, which takes up to half a minute."""
    cem = [(box, options) for box in learned.BOXES for name, options in learned.LEARNED if name == "cem"]
    for box, options in of_today(cem, 1):
        steps_are_as_committed(box, "cem", "transforms" if options["units"] else "ops", options)


@pytest.mark.slow
@pytest.mark.parametrize("source", known_costs.SOURCES)
def test_what_readers_know_of_the_models_of_a_framework_reproduces(source):
    """Files, ops, and how much of them is known."""
    pytest.importorskip(source)
    assert cells(known_costs.line(source)) in lines(source)
