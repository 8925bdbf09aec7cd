"""``placelab study``: a file says which problems and strategies; errors are one sentence."""

from __future__ import annotations

import pandas as pd
import pytest

from placelab.app.cli import main

FILE = """
path = "rows.parquet"
partitioners = ["single", { name = "heft", insertion = false }, "heft"]
schedulers = ["fifo", "planned"]
seeds = 2
[grid]
graph = ["convolutional_network"]
devices = [2, "pcie_box"]
bandwidth = [1e9, 1e10]
"""


def test_a_study_runs_and_goes_on(tmp_path, capsys):
    """The table, the file of rows, and the summary; the second time nothing is computed, with the same result."""
    (tmp_path / "study.toml").write_text(FILE)
    said = []
    for out in ("a.csv", "b.csv"):
        main(["study", str(tmp_path / "study.toml"), "--processes", "0", "--out", str(tmp_path / out)])
        said.append(capsys.readouterr().out.replace(out, ""))
    assert said[0] == said[1] and said[0].startswith("48 rows of 4 problems\n")
    single = next(line for line in said[0].splitlines() if line.split()[:2] == ["single", "planned"])
    assert single.split()[-1] == "8"  # no plan, so none of its rows has a result
    a, b = (pd.read_csv(tmp_path / name) for name in ("a.csv", "b.csv"))
    pd.testing.assert_frame_equal(a, b)
    assert set(a["partitioner"]) == {"single", "heft(insertion=False)", "heft"}
    assert len(pd.read_parquet(tmp_path / "rows.parquet")) == 48


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("path = ", "is no TOML"),
        ("paths = 'x'", "unknown key 'paths'"),
        ("seeds = 1", "no table \\[grid\\]"),
        ("partitioners = [{ insertion = true }]\n[grid]\ngraph = 'topcuoglu'\ndevices = 'pcie_box'", "table with name"),
        ("[grid]\ngraph = 'nope'\ndevices = 2", "nope"),
        ("[grid]\ngraph = 'convolutional_network'\ndevices = 2\nwidth = 1", "no axis 'width'"),
    ],
)
def test_what_is_wrong_is_one_sentence(text, words, tmp_path):
    """With the file's name or the key."""
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(SystemExit, match=f"^placelab: [^\n]*{words}"):
        main(["study", str(tmp_path / "study.toml"), "--processes", "0"])


def test_only_csv_is_written(tmp_path):
    """Another suffix is refused before anything is computed."""
    (tmp_path / "study.toml").write_text("[grid]\ngraph = 'topcuoglu'\ndevices = 2")
    with pytest.raises(SystemExit, match=r"^placelab: [^\n]*rows.xyz"):
        main(["study", str(tmp_path / "study.toml"), "--out", str(tmp_path / "rows.xyz")])
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
