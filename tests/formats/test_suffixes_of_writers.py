"""What is written has the suffix of its form, so that it can be read again."""

import pytest

import placelab as pl

GRAPH = pl.OpGraph.from_arrays(["a.b", "a.c"], [1.0, 1.0], [(0, 1)])
SCHEDULE = pl.solve(pl.Problem(GRAPH, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "heft")
WRITERS = [
    (GRAPH.save, "a graph", ".json"),
    (SCHEDULE.placement.save, "a placement", ".json"),
    (lambda path: pl.export.chrome_trace(SCHEDULE, path), "a trace", ".json"),
    (lambda path: pl.export.csv(SCHEDULE, path), "a table", ".csv"),
    (lambda path: pl.export.html(SCHEDULE, path), "a page", ".html"),
    (lambda path: pl.export.torch_schedule(SCHEDULE, path), "a schedule table", ".csv"),
]


@pytest.mark.parametrize(("write", "what", "suffix"), WRITERS, ids=[what for _, what, _ in WRITERS])
def test_another_forms_suffix_is_refused(write, what, suffix, tmp_path):
    """One sentence says which suffix is right; the right one, gzipped or in capitals, and none are taken."""
    for name in ("g.txt", "g.csv.gz" if suffix == ".json" else "g.json", "g.pb"):
        with pytest.raises(
            pl.FormatError, match=f"cannot hold {what}, which is written as .*; end its name in {suffix}"
        ):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())
    if what != "a schedule table":  # which only a pipeline has
        for name in (f"g{suffix}", f"g{suffix}.gz", f"G{suffix.upper()}", "g", "gpt2-1.5b", "best.v2"):
            write(tmp_path / name)
            assert (tmp_path / name).stat().st_size
