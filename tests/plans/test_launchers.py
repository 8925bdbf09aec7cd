"""Each export of a split, read by the launcher's rule, is the split again; PyTorch's own pipelines cut where the points say."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import launcher_rules
import launcher_rules as rules
import pytest

import placelab as pl
from placelab.plans.launchers import vllm_default

EIGHT_B = pl.models.read("llama-3-8b")
MIXED = ("llama-3-8b", "gpt2", "llama-3.2-1b", "mixtral-8x7b", "deepseek-v2-lite", "qwen3-30b-a3b")


def split(borders=(9, 18, 26), model=EIGHT_B, device="h100", **options) -> pl.LayerSplit:
    """Layers with borders where the test wants them."""
    cluster = pl.costs.cluster(device, len(borders) + 1).replace(memory=1e13)
    return pl.split_layers(model, cluster, fixed=dict(enumerate(borders)), **options)


def some_splits(n: int) -> list[pl.LayerSplit]:
    """Splits of several models with random borders, two at one place among them."""
    source = random.Random(n)
    found = []
    for i in range(n):
        model = pl.models.read(MIXED[i % len(MIXED)])
        k = source.randint(1, 6)
        borders = sorted(source.sample(range(1, model.layers), k - 1))
        found.append(split(borders, model, sequence=16))
    return found


def test_the_forms_are_those_that_launchers_take(tmp_path):
    """32 layers as 9, 9, 8, 6; with a path the text is in a file, too."""
    four = split()
    text = pl.export.megatron_layout(four, tmp_path / "layout")
    assert text == "Et*9|t*9|t*8|t*6L" == (tmp_path / "layout").read_text().strip()
    assert pl.export.vllm_partition(four) == "VLLM_PP_LAYER_PARTITION=9,9,8,6"
    assert pl.export.llama_cpp(four) == "-ngl 33 -sm layer -ts 9,9,8,7"
    assert pl.export.torch_split_points(four) == '["model.layers.9", "model.layers.18", "model.layers.26"]'
    document = json.loads(pl.export.accelerate(four))
    assert list(document["device_map"].items())[:2] == [("model.embed_tokens", 0), ("model.layers.0", 0)]
    assert document["device_map"]["model.norm"] == document["device_map"]["lm_head"] == 3
    with pytest.raises(pl.FormatError, match=r"export.vllm_partition needs a LayerSplit, found a str"):
        pl.export.vllm_partition("llama-3-8b")


def test_what_is_written_is_read_again():
    """Counts, embeddings and heads are those of the split, for models of all kinds."""
    for found in some_splits(24):
        model = found.model
        counts = list(found.counts)
        p = len(found.counts)
        stages = rules.read_layout(pl.export.megatron_layout(found), p)
        assert [s.count("t") for s in stages] == counts and stages[0][0] == "E" and stages[-1][-1] == "L"
        assert rules.read_partition(pl.export.vllm_partition(found), model.layers, p) == counts
        devices = rules.read_map(pl.export.accelerate(found), model)
        parts = rules.read_points(pl.export.torch_split_points(found), model)
        assert json.loads(pl.export.torch_split_points(found, parts=True)) == parts
        tensors = rules.read_flags(pl.export.llama_cpp(found), model)
        prefix = "transformer.h" if model.shape.gpt else "model.layers"
        for d, modules in enumerate(parts):
            assert sum(name.startswith(prefix) for name in modules) == counts[d]
        expected = {module: d for d, modules in enumerate(parts) for module in modules}
        if model.shape.tied:
            expected["lm_head"] = 0
        for name, device in devices.items():
            assert device == next(d for module, d in expected.items() if name.startswith(f"{module}."))
        where = [tensors[f"blk.{i}.attn_norm.weight"] for i in range(model.layers)]
        assert [where.count(d) for d in range(p)] == counts and tensors["output_norm.weight"] == p - 1
        assert tensors["token_embd.weight"] == rules.CPU


def test_the_reader_of_device_maps_places_the_same():
    """What reads Accelerate's maps as placements puts every op of a layer where the split has it."""
    found = split()
    problem = found.problem()
    device_map = json.loads(pl.export.accelerate(found))["device_map"]
    free = pl.Problem(problem.graph, problem.cluster, memory="none")
    placed = pl.Placement.loads(free, json.dumps(device_map).encode())
    assert placed.device.tolist() == problem.may_run.argmax(axis=1).tolist()


def test_the_default_of_vllm():
    """Golden X1: equal parts; what is left goes to the last ranks but one."""
    assert vllm_default(32, 6) == [5, 5, 5, 6, 6, 5]
    assert vllm_default(61, 4) == [15, 15, 16, 15]
    assert vllm_default(80, 3) == [27, 27, 26]


@pytest.mark.parametrize("splits", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_llama_cpp_rounds_as_float32_does(splits):
    """Golden X1: whole numbers give their counts for 20,000 random splits, of which 2,000 each time; 16, 8, 4, 5 leave the output
    on the last device."""
    assert rules.devices_of_layers([16, 8, 4, 5], 32, 33) == [0] * 16 + [1] * 8 + [2] * 4 + [3] * 5
    assert rules.devices_of_layers([3, 3, 1], 8, 7) == [-1, -1, 0, 0, 0, 1, 1, 1, 2]
    source = random.Random(0)
    for _ in range(splits):
        k = source.randint(1, 8)
        layers = source.randint(k, 130)
        cuts = [0, *sorted(source.sample(range(1, layers + 1), k - 1)), layers + 1]
        counts = [b - a for a, b in pairwise(cuts)]
        found = rules.devices_of_layers(counts, layers, layers + 1)
        assert [found.count(d) for d in range(k)] == counts


def test_llama_cpp_leaves_layers_and_experts_on_the_cpu():
    """A CPU has the first layers; experts of some layers stay there, and nothing else."""
    gpu = pl.costs.specs()["rtx4090"]
    cpu = pl.costs.specs()["epyc_7763"]
    cluster = pl.Cluster(
        [cpu.speed, gpu.speed], memory=[cpu.memory, gpu.memory], types=["epyc_7763", "rtx4090"], bandwidth=2e10
    )
    found = pl.split_layers("mixtral-8x7b", cluster, objective="sum")
    text = pl.export.llama_cpp(found)
    assert text == f"-ngl {33 - found.counts[0]} -sm layer -ts {found.counts[1] + 1}" and found.counts[0] > 0
    where = rules.read_flags(text, found.model)
    assert [where[f"blk.{i}.attn_q.weight"] for i in range(32)] == [-1] * found.counts[0] + [0] * found.counts[1]
    device_map = json.loads(pl.export.accelerate(found))["device_map"]
    assert device_map["model.layers.0"] == "cpu" and device_map["lm_head"] == 0
    whole = pl.split_layers("qwen3-30b-a3b", pl.costs.cluster("h100", 1))
    layers = [3, *range(16, 30), 47]
    text = pl.export.llama_cpp(whole, cpu_experts=layers)
    assert text == r'-ngl 49 -sm layer -ts 49 -ot "blk\.(3|1[6-9]|2[0-9]|47)\.ffn_(gate|up|down)_exps\.=CPU"'
    there = {name for name, d in rules.read_flags(text, whole.model).items() if d == rules.CPU}
    expected = {f"blk.{i}.{part}.weight" for i in layers for part in rules.EXPERTS}
    assert there == expected | {"token_embd.weight"}
    with pytest.raises(pl.UnsupportedError, match="layer 0 of deepseek-v2-lite has no experts"):
        pl.export.llama_cpp(pl.split_layers("deepseek-v2-lite", pl.costs.cluster("h100", 1)), cpu_experts=[0])
    turned = cluster.replace(types=["rtx4090", "epyc_7763"], memory=[24e9, 256e9])
    with pytest.raises(pl.UnsupportedError, match=r"'dev1' is a CPU; llama\.cpp runs the first layers there"):
        pl.export.llama_cpp(pl.split_layers("mixtral-8x7b", turned))


def test_a_stage_may_have_the_embedding_or_the_head_alone():
    """Megatron and PyTorch take such stages, vLLM does not; idle devices are no stages."""
    ends = split((0, 16, 32))
    assert pl.export.megatron_layout(ends) == "E|t*16|t*16|L"
    assert json.loads(pl.export.torch_split_points(ends)) == ["model.layers.0", "model.layers.16", "model.norm"]
    with pytest.raises(pl.UnsupportedError, match="'gpu:0' has no layer of llama-3-8b; vLLM"):
        pl.export.vllm_partition(ends)
    idle = pl.split_layers(EIGHT_B, pl.costs.cluster("h100", 3), objective="sum", empty=True)
    assert idle.counts == (0, 0, 32) and pl.export.megatron_layout(idle) == "Et*32L"
    assert json.loads(pl.export.accelerate(idle))["device_map"]["model.embed_tokens"] == 2


def test_a_free_order_keeps_the_numbers_of_devices():
    """Accelerate gets each device's own number, whatever the order."""
    cluster = pl.Cluster([1e13, 9e13], types=["t4", "h100"], bandwidth=1e10)
    found = pl.split_layers(EIGHT_B, cluster, order="free", context=4000)
    device_map = json.loads(pl.export.accelerate(found))["device_map"]
    layers = [d for module, d in device_map.items() if module.startswith("model.layers.")]
    assert [layers.count(d) for d in found.order] == list(found.counts) and found.order == (1, 0)


def test_sizes_hold_what_the_split_needs():
    """A GiB that is cut off counts where it is needed."""
    cluster = pl.Cluster([1e13] * 2, memory=[24e9, 8.7e9], bandwidth=1e10)
    found = pl.split_layers(EIGHT_B, cluster, fixed={0: 16})
    sizes = json.loads(pl.export.accelerate(found))["max_memory"]
    assert sizes == {"0": "22GiB", "1": "8GiB"}
    tight = pl.split_layers(EIGHT_B, cluster.replace(memory=[24e9, 8.1e9]), fixed={0: 16})
    assert json.loads(pl.export.accelerate(tight))["max_memory"]["1"] == 8_100_000_000
    assert "max_memory" in json.loads(pl.export.accelerate(split()))


def test_the_layout_of_megatron():
    """Golden X1: groups unroll first, commas vanish, stages may be empty, ranks divide them."""
    assert rules.read_layout("E|(t|)*3,m|m||L") == ["E", "t", "t", "t", "m", "m", "", "L"]
    assert rules.read_layout("Et*2|(tt|)*2tL", 2) == ["Ett", "tt", "tt", "tL"]


def of_model(read):
    """The reader, told that the model is Llama 3."""
    return lambda text: read(text, EIGHT_B)


def two_ranks(text):
    """Megatron's reader, told that there are two ranks."""
    return rules.read_layout(text, 2)


def two_parts(text):
    """vLLM's reader, told that four blocks are in two parts."""
    return rules.read_partition(text, 4, 2)


flags, device_map, points = map(of_model, (rules.read_flags, rules.read_map, rules.read_points))


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (rules.read_layout, "tE|tL", "expected one E"),
        (rules.read_layout, "Et|mtL", "expected one E"),
        (rules.read_layout, "Et|x*3L", "has 'x'"),
        (rules.read_layout, "E((t)*9)*9L", r"has '\('"),
        (rules.read_layout, "Et*999999|L", "more than 100,000 letters"),
        (two_ranks, "E|t|L", "3 stages, which 2 ranks do not divide"),
        (
            lambda text: rules.read_partition(text, 4, 2),
            "VLLM_PP_LAYER_PARTITION=4,0",
            "expected VLLM_PP_LAYER_PARTITION=",
        ),
        (two_parts, "9" * 5000, "expected VLLM_PP_LAYER_PARTITION="),
        (flags, "-ngl all", "expected -ngl N"),
        (flags, '-ngl 3 -ot "(=CPU"', "is no regular expression"),
        (flags, "-ngl 3 -sm layer -ts 0,0", "one above 0"),
        (device_map, "[]", "JSON of a different kind"),
        (
            lambda text: rules.read_map(text, EIGHT_B),
            '{"device_map": {"model": 0}}',
            "no device for 'lm_head.weight'",
        ),
        (device_map, '{"device_map": {"model.layers.0.mlp": 0}}', "cuts a layer"),
        (
            lambda text: rules.read_map(text, EIGHT_B),
            '{"device_map": {}, "max_memory": {"0": "2 GiB"}}',
            "a size of max_memory",
        ),
        (
            lambda text: rules.read_points(text, EIGHT_B),
            '["model.layers.9", "model.layers.2"]',
            "is no module of llama-3-8b behind",
        ),
        (points, "{}", "expected a list of module paths"),
    ],
)
def test_what_launchers_refuse_is_refused(read, text, words):
    """One sentence says what was found."""
    with pytest.raises(pl.FormatError, match=words):
        read(text)


SMALL = dict(hidden_size=8, num_attention_heads=2, intermediate_size=16, vocab_size=32, num_hidden_layers=6)


def test_pytorch_begins_its_stages_at_the_points():
    """Each stage of torch.distributed.pipelining has the parameters of its layers, and no other."""
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    pipelining = pytest.importorskip("torch.distributed.pipelining")
    nn = torch.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = nn.Embedding(32, 8)
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)])
            self.norm = nn.LayerNorm(8)

        def forward(self, ids):
            x = self.embed_tokens(ids)
            for layer in self.layers:
                x = x + layer(x)
            return self.norm(x)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Inner()
            self.lm_head = nn.Linear(8, 32)

        def forward(self, ids):
            return self.lm_head(self.model(ids))

    model = pl.models.read({"model_type": "llama", **SMALL})
    for borders in ({0: 1, 1: 3}, {0: 0, 1: 4}, {0: 2, 1: 6}):
        split = pl.split_layers(model, pl.costs.cluster("h100", 3), fixed=borders, sequence=8)
        text = pl.export.torch_split_points(split)
        points = {name: pipelining.SplitPoint.BEGINNING for name in json.loads(text)}
        whole = pipelining.pipeline(Decoder(), mb_args=(torch.zeros(2, 4, dtype=torch.long),), split_spec=points)
        parts = launcher_rules.read_points(text, model)
        assert whole.num_stages == len(parts) == 3
        for stage, modules in enumerate(parts):
            names = [name for name, _ in whole.get_stage_module(stage).named_parameters()]
            assert {name.rpartition(".")[0] for name in names} == set(modules)
