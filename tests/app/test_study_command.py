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
        ("path = ", "is not TOML"),
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


GOOD = dict(partitioners="'heft'", schedulers="'planned'", seeds="1", prepare="[]", path="'rows.parquet'")
GRID = dict(graph="'topcuoglu'", devices="2")
AXES = (
    "bandwidth",
    "latency",
    "speed",
    "memory",
    "transfers",
    "duplex",
    "transfer_ops",
    "memory_model",
    "latency_rule",
)
TEXTS = {"'no such name'": "no such name", '"a\\u0000b"': r"a\x00b", "['', 'nope']": "''"}
NEVER = {  # what no key takes, and how the message has it
    "[[2]]": "[2]",
    "[{}]": "{}",
    "[{ x = 1 }]": "{'x': 1}",
    "2020-01-01": "datetime.date",
    "-3": "-3",
    "nan": "nan",
    "[0.5, -0.5]": "0.5",
    "[]": "",
}
HUGE = {"[99999999999999999999]": "99999999999999999999", "99999999999": "99999999999"}
NO_FLAG = {"true": "True"}
WRONG = {
    "partitioners": TEXTS | NEVER | HUGE | NO_FLAG,
    "schedulers": TEXTS | NEVER | HUGE | NO_FLAG,
    "seeds": TEXTS | NEVER | HUGE | NO_FLAG | {"0": "0"},
    "prepare": {k: v for k, v in (TEXTS | NEVER | HUGE | NO_FLAG).items() if k != "[]"},
    "path": {k: v for k, v in (TEXTS | NEVER | HUGE | NO_FLAG).items() if k != "'no such name'"},
    "graph": TEXTS | NEVER | HUGE | NO_FLAG,
    "devices": TEXTS | NEVER | HUGE | NO_FLAG | {"0": "0", "1e300": "1e+300", "100000": "100000"},
    **{axis: TEXTS | NEVER | NO_FLAG | {"1" + "0" * 400: "1" + "0" * 50} for axis in AXES if axis != "duplex"},
    "duplex": TEXTS | NEVER | HUGE,
}
CASES = [(key, text, shown) for key, values in WRONG.items() for text, shown in values.items()]


@pytest.mark.parametrize(("key", "text", "shown"), CASES)
def test_a_wrong_value_of_any_key_is_told_with_file_key_and_value(key, text, shown, tmp_path):
    """One sentence, whatever the value; no message of Python."""
    path = tmp_path / "study.toml"
    top = dict(GOOD)
    grid = dict(GRID)
    (top if key in GOOD else grid)[key] = text
    rows = [*(f"{k} = {v}" for k, v in top.items()), "[grid]", *(f"{k} = {v}" for k, v in grid.items())]
    path.write_text("\n".join(rows))
    with pytest.raises(SystemExit) as caught:
        main(["study", str(path), "--processes", "0"])
    said = str(caught.value)
    assert said.startswith(f"placelab: {path}: ") and key.removesuffix("s") in said and shown in said
    assert "Error" not in said and "\n" not in said


def test_only_csv_is_written(tmp_path):
    """Another suffix is refused before anything is computed."""
    (tmp_path / "study.toml").write_text("[grid]\ngraph = 'topcuoglu'\ndevices = 2")
    with pytest.raises(SystemExit, match=r"^placelab: [^\n]*rows.xyz"):
        main(["study", str(tmp_path / "study.toml"), "--out", str(tmp_path / "rows.xyz")])
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
