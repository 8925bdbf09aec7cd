"""Small files of each format that use all its features, for tests and as seeds of tests/support/fuzz.py."""

from __future__ import annotations

import io
import json
import zipfile

import placelab as pl
from placelab.problem import graph_json as own


def placelab_json() -> list[bytes]:
    """A graph with all optional columns, and one with none."""
    full = pl.OpGraph.from_arrays(
        ["a", "scope/b", "c", "d"],
        [1.0, 2.5, 3.0, float("nan")],
        [(0, 1), (0, 2), (0, 3), (1, 3)],
        edge_bytes=[4.0, 4.0, 8.0, 0.0],
        edge_output=[0, 0, 1, 0],
        edge_control=[False, False, False, True],
        outputs=[(3, 0, 16.0)],
        persistent=[1.0, 0.0, 0.0, 2.0],
        temporary=1.0,
        kind=["Const", "MatMul", "Add", ""],
        time={"cpu": [1.0, 2.0, 3.0, 4.0], "gpu": [float("nan"), 1.0, 1.0, 1.0]},
        groups=[[0, 1]],
        group_names=["loc:a"],
        devices={2: ["cpu"]},
        metadata={"name": "full", "cluster": {"speed": [1.0, 2.0], "types": ["cpu", "gpu"]}},
    )
    return [own.dumps(graph).encode() for graph in (full, pl.OpGraph.from_arrays(["only"], [1.0], []))]


def stg() -> list[bytes]:
    """Graphs without and with communication costs, and one of the prototype set, with processors and without an entry."""
    return [
        b"3\n 0 0 0\n 1 20 1 0\n 2 3 1 0\n 3 5 2 1 2\n 4 0 1 3\n# Standard Task Graph\n# Tasks : 3\n",
        b"2\n 0 0 0\n 1 4 1\n   0 0\n 2 6 2\n   0 0\n   1 7.5\n 3 0 1\n   2 0\n",
        b"3 2\n 1 14 0\n 2 20 1 1\n 3 9 1 1\n 4 0 2 2 3\n",
    ]


def dot() -> list[bytes]:
    """Graphs in the three dialects, and one with every feature of the language."""
    return [
        b'digraph full { a [compute=1e3, kind="MatMul", persistent=4, group="g", devices="[\\"cpu\\"]"];\n'
        b'b [compute=2, time="{\\"cpu\\": 0.5}"]; a -> b [bytes=8, tensor=0]; a -> b [control=true]; }\n',
        b"digraph {\n  a [Weight=2];\n  b [Weight=3];\n  a -> b [Weight=1];\n}\n",
        b'digraph G { 1 [size="1e9", alpha=0.2]; root -> 1; 1 -> end [size="8e6"]; root -> end [size="-1"] }',
        b'strict digraph "two words" { // a comment\n node [cost=1, shape=box]; edge [cost=2]; rankdir=LR;\n'
        b"subgraph cluster_x { e; f [cost=4] } a:n -> {b; c} -> d [color=red]; /* and */\n"
        b'"quo\\"ted" [label=<<b>html</b>>]; e -> "quo\\"ted" -> "con" + "cat"\n# a line of the preprocessor\n}',
    ]


def wfformat() -> list[bytes]:
    """A workflow with a file that two tasks read, a control edge, machines and a file that no task reads."""
    tasks = [
        dict(name="split", id="split_ID01", parents=[], children=["work_ID02", "work_ID03"], outputFiles=["a", "log"]),
        dict(name="work_02", id="work_ID02", parents=["split_ID01"], children=[], inputFiles=["a"], outputFiles=["b"]),
        dict(name="work_03", id="work_ID03", parents=["split_ID01"], children=["join"], inputFiles=["a", "outside"]),
        dict(name="join", id="join", parents=["work_ID02", "work_ID03"], children=[], inputFiles=["b"]),
    ]
    runs = [dict(id=task["id"], runtimeInSeconds=1.5 * i, machine="m1") for i, task in enumerate(tasks)]
    runs[1] |= dict(machines=["m2"], memoryInBytes=1000, coreCount=2)
    machines = [
        dict(nodeName="m1", memoryInBytes=64, cpu=dict(coreCount=4, speedInMHz=2000)),
        dict(nodeName="m2", cpu=dict(speedInMHz=4000)),
    ]
    files = [dict(id=name, sizeInBytes=10 * i) for i, name in enumerate(("a", "b", "log"))]
    execution = dict(makespanInSeconds=9, executedAt="2026-01-01T00:00:00Z", tasks=runs, machines=machines)
    workflow = dict(specification=dict(tasks=tasks, files=files), execution=execution)
    return [json.dumps(dict(name="small", schemaVersion="1.5", workflow=workflow)).encode()]


def networkx_files() -> list[bytes]:
    """Node-link JSON of either name for edges, in two dialects; GraphML with keys and defaults."""
    nodes = [dict(id="a", compute=4, kind="MatMul", time={"cpu": 0.5}, group=["g", "h"]), dict(id=2, compute=1.5)]
    links = [dict(source="a", target=2, bytes=8, tensor=0), dict(source="a", target=2, key=1, control=True)]
    own = dict(
        directed=True, multigraph=True, graph=dict(name="own", time_speed=dict(cpu=1e9)), nodes=nodes, links=links
    )
    plain = [dict(id=i, weight=i, duration=2.5, label="x") for i in range(3)]
    edges = [dict(source=0, target=1, weight=2), dict(source=0, target=2, weight=0.5)]
    graphml = b"""<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" attr.name="compute" attr.type="double"/>
<key id="d1" for="edge" attr.name="bytes" attr.type="long"><default>3</default></key>
<key id="d2" for="node" attr.name="time" attr.type="string"/>
<graph edgedefault="directed"><node id="a"><data key="d0">1e3</data><data key="d2">{"cpu": 2}</data></node>
<node id="b"><data key="d0">2</data></node><edge source="a" target="b"><data key="d1">8</data></edge>
<edge id="e" source="a" target="b"/></graph></graphml>"""
    other = dict(directed=True, multigraph=False, graph={}, nodes=plain, edges=edges)
    return [json.dumps(own).encode(), json.dumps(other).encode(), graphml]


def pegasus() -> list[bytes]:
    """A workflow with sizes in three places, a runtime, an alias, standard output, and a catalogue of replicas."""
    return [
        b"""pegasus: "5.0"
name: small
replicaCatalog:
  replicas:
  - {lfn: in.txt, pfns: [{site: local, pfn: /in.txt}], metadata: {size: "100"}}
jobs:
- type: job
  name: split
  id: A
  stdout: log.txt
  uses: &shared
  - {lfn: in.txt, type: input}
  - {lfn: a.txt, type: output, size: 1000, stageOut: false}
  profiles: {pegasus: {runtime: "13.5"}, env: {A: b}}
- type: pegasusWorkflow
  id: B
  uses:
  - {lfn: a.txt, type: input, metadata: {size: 900}}
- {type: job, name: other, id: C, uses: *shared}
jobDependencies:
- id: A
  children: [B, C]
""",
        b'# JSON is YAML\n{"pegasus": "5.0.4", "jobs": [{"type": "job", "id": "A", "name": "a"}]}',
    ]


def dnn_partitioning() -> list[bytes]:
    """A layer and its gradient in one colour, an op for the CPU alone, and booleans as numbers."""
    node = lambda i, fpga, cpu, **more: dict(  # noqa: E731
        id=i,
        name=f"n{i}",
        supportedOnFpga=1,
        fpgaLatency=fpga,
        cpuLatency=cpu,
        isBackwardNode=False,
        size=8.0 * i,
        **more,
    )
    nodes = [node(7, 0.5, 5.0, colorClass=1), node(8, 0, 0), node(9, 1.5, 15.0, colorClass=1) | dict(isBackwardNode=1)]
    nodes[1] |= dict(supportedOnFpga=0, cpuLatency=2.0, colorClass=None)
    edges = [
        dict(sourceId=7, destId=8, cost=0.25),
        dict(sourceId=7, destId=9, cost=0.25),
        dict(sourceId=8, destId=9, cost=0),
    ]
    return [json.dumps(dict(maxSizePerFPGA=64.0, maxFPGAs=2, maxCPUs=1, nodes=nodes, edges=edges)).encode()]


def pipedream() -> list[bytes]:
    """Three layers, one with two outputs, in two stages."""
    costs = "forward_compute_time={}, backward_compute_time={}, activation_size={}, parameter_size={}"
    lines = [
        "node2 -- Conv2d(3, 64, kernel_size=(3, 3)) -- " + costs.format(1.5, 3.0, 100.0, 12.0) + " -- stage_id=0",
        "node1 -- Input0 -- " + costs.format(0, 0, 0.0, 0.0) + " -- stage_id=0",
        "node3 -- LSTM(4, 4) -- " + costs.format(2, 4, "[8.0; 16.0]", 0.5) + " -- stage_id=1",
        "\tnode1 -- node2",
        "\tnode2 -- node3",
    ]
    return ["\n".join(lines).encode()]


def mayer_csv() -> list[bytes]:
    """Unsorted ops, a group, a constraint, and a line without the last columns."""
    head = "Id,(Outgoing) node,(Incoming) node,Colocation nodes,#tensorSize, #operations, RAM storage,Device constraint ,name"
    return [f"{head}\n2,3,1,,5,6,7,GPU,a/MatMul_1\n1,2;3,,3,4,8,9,NO,x\n3,,1;2,,0,10\n".encode()]


def torch_profile() -> list[bytes]:
    """Two ops in ranges with their names, on a CPU and on a GPU, and a step of eager PyTorch."""

    def event(name: str, ts: float, dur: float, cat: str = "cpu_op", tid: int = 1, **args: int) -> dict:
        return dict(ph="X", cat=cat, name=name, pid=7, tid=tid, ts=ts, dur=dur, args=args)

    ranges = [event("a/mm", 0, 50, "user_annotation", id=1), event("add", 60, 20, "user_annotation", id=2)]
    ops = [event("aten::mm", 5, 10), event("aten::copy_", 6, 4), event("aten::add_", 61, 3)]
    numbered = [event("aten::mm", 5, 10, **{"External id": 2}), event("aten::add_", 61, 3, **{"External id": 3})]
    kernel = {"External id": 2, "device": 1, "correlation": 9}
    kernels = [event("gemm", 500, 100, "kernel", 8, **kernel), event("Memcpy", 450, 2, "gpu_memcpy", 8, **kernel)]
    more = [event("ProfilerStep#1", -5, 900, "user_annotation"), event("aten::mm", 200, 5), event("aten::view", 210, 1)]
    head = dict(schemaVersion=1, deviceProperties=[], traceEvents=[dict(ph="M", name="process_name", pid=7, args={})])
    traces = (ranges + ops, ranges + numbered + kernels, more + ranges + ops)
    return [json.dumps(head | dict(traceEvents=head["traceEvents"] + events)).encode() for events in traces]


def torch_archive() -> list[bytes]:
    """An embedding and a dense layer that share a weight, an assertion, and a result in two parts."""
    tensor = lambda name: dict(as_tensor=dict(name=name))  # noqa: E731
    meta = lambda dtype, *sizes: dict(dtype=dtype, sizes=[dict(as_int=size) for size in sizes])  # noqa: E731
    argument = lambda name, arg: dict(name=name, arg=arg, kind=1)  # noqa: E731

    def node(op: str, inputs: list, outputs: list, path: str = "") -> dict:
        stack = f"L__self__,,Model;L__self__{path},{path},Layer" if path else "L__self__,,Model"
        return dict(target=f"torch.ops.aten.{op}", inputs=inputs, outputs=outputs, metadata=dict(nn_module_stack=stack))

    shapes = dict(w=meta(7, 64, 8), w2=meta(7, 64, 8), x=meta(5, 2), e=meta(7, 2, 8), y=meta(7, 2, 8))
    shapes |= dict(a=meta(7, 1, 8), b=meta(7, 1, 8))
    shapes["x"]["sizes"] = [dict(as_expr=dict(expr_str="s0", hint=dict(as_int=2)))]
    nodes = [
        node(
            "embedding.default",
            [argument("weight", tensor("w")), argument("indices", tensor("x"))],
            [tensor("e")],
            "token",
        ),
        node("_assert_tensor_metadata.default", [argument("a", tensor("e"))], [dict(as_none=True)]),
        node(
            "linear.default", [argument("input", tensor("e")), argument("weight", tensor("w2"))], [tensor("y")], "head"
        ),
        node(
            "split.Tensor",
            [argument("self", tensor("y")), argument("split_size", dict(as_int=1))],
            [dict(as_tensors=[dict(name="a"), dict(name="b")])],
        ),
    ]
    weight = lambda name, own: dict(parameter=dict(arg=dict(name=name), parameter_name=own))  # noqa: E731
    specs = [weight("w", "token.weight"), weight("w2", "head.weight"), dict(user_input=dict(arg=tensor("x")))]
    graph = dict(inputs=[], outputs=[tensor("a")], nodes=nodes, tensor_values=shapes)
    program = dict(graph_module=dict(graph=graph, signature=dict(input_specs=specs)), torch_version="2.13.0")
    stored = dict(config={own: dict(path_name="weight_0") for own in ("token.weight", "head.weight")})
    file = io.BytesIO()
    members = {"models/model.json": program, "data/weights/model_weights_config.json": stored}
    with zipfile.ZipFile(file, "w") as archive:
        for name, document in members.items():
            archive.writestr(zipfile.ZipInfo(f"small/{name}"), json.dumps(document))
        archive.writestr(zipfile.ZipInfo("small/data/sample_inputs/model.pt"), b"a pickle")
    return [file.getvalue()]


def hlo_text() -> list[bytes]:
    """An optimised module with a fusion, a loop, a branch, collectives and a convolution; and one as people write it."""
    optimised = """HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[8,16]{1,0})->f32[8,4]{1,0}}

FileNames
1 "a \\"file\\".py"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%fused (p0: f32[8,16], p1: f32[16,4]) -> f32[8,4] {
  %p0 = f32[8,16]{1,0:T(8,128)} parameter(0)
  %p1 = f32[16,4]{1,0} parameter(1)
  %d = f32[8,4]{1,0} dot(%p0, %p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %t = f32[8,4]{1,0} tanh(%d), metadata={op_name="jit(f)/{tanh}" stack_frame_id=2}
}

%test (s: (s32[], f32[8,4])) -> pred[] {
  %s = (s32[], f32[8,4]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant(5)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%body (s.1: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %s.1 = (s32[], f32[8,4]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i.1, %one)
  %v = f32[8,4]{1,0} get-tuple-element(%s.1), index=1
  %w = f32[8,4]{1,0} multiply(%v, %v)
  ROOT %both = (s32[], f32[8,4]{1,0}) tuple(%next, %w)
}

%cheap (q: f32[8,4]) -> f32[8,4] {
  ROOT %q = f32[8,4]{1,0} parameter(0)
}

%dear (q.1: f32[8,4]) -> f32[8,4] {
  %q.1 = f32[8,4]{1,0} parameter(0)
  ROOT %neg = f32[8,4]{1,0} negate(%q.1)
}

ENTRY %main (x: f32[8,16]) -> (f32[8,4], f32[]) {
  %x = f32[8,16]{1,0} parameter(0), sharding={replicated}
  %w0 = f32[16,4]{1,0} constant({...})
  %zero = s32[] constant(0)
  %start.0 = f32[] constant(0)
  %f = f32[8,4]{1,0} fusion(%x, %w0), kind=kOutput, calls=%fused
  %in = (s32[], /*index=1*/f32[8,4]{1,0}) tuple(%zero, %f)
  %loop = (s32[], f32[8,4]{1,0}) while(%in), condition=%test, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %out = f32[8,4]{1,0} get-tuple-element(%loop), index=1
  %which = s32[] convert(%zero)
  %branch = f32[8,4]{1,0} conditional(%which, %out, %out), branch_computations={%cheap, %dear}
  %start = f32[8,4]{1,0} all-reduce-start(%branch), replica_groups={{0,1}}, to_apply=%sum, control-predecessors={%f}
  %done = f32[8,4]{1,0} all-reduce-done(%start)
  %total = f32[] reduce(%done, %start.0), dimensions={0,1}, to_apply=%sum
  %call = f32[8,4]{1,0} custom-call(%done), custom_call_target="mystery"
  ROOT %result = (f32[8,4]{1,0}, f32[]) tuple(%call, %total)
}
"""
    plain = """HloModule m
ENTRY e { x = f32[1,8,8,3] parameter(0) k = f32[3,3,3,4] parameter(1) // a comment
  c = f32[1,8,8,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = f32[<=8,?,4] custom-call(c), custom_call_target="reshaped" }"""
    return [optimised.encode(), plain.encode()]


def stablehlo_text() -> list[bytes]:
    """A module in the pretty form with a loop, a branch, calls, a reduction and a convolution; and one in the generic form."""
    pretty = """#loc1 = loc("a")
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<4x4xf32>) -> (tensor<8x4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %c) : tensor<8x4xf32>, tensor<i32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg_0, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = func.call @layer(%iterArg, %arg1) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg_0, %c_1 : tensor<i32>
      stablehlo.return %3, %4 : tensor<8x4xf32>, tensor<i32>
    }
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0#0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = "stablehlo.case"(%0#1) ({
      stablehlo.return %0#0 : tensor<8x4xf32>
    }, {
      %3 = stablehlo.negate %0#0 : tensor<8x4xf32>
      stablehlo.return %3 : tensor<8x4xf32>
    }) : (tensor<i32>) -> tensor<8x4xf32>
    stablehlo.custom_call @mystery(%1) {api_version = 2 : i32} : (tensor<8xf32>) -> ()
    return %2 : tensor<8x4xf32> loc(#loc1)
  }
  func.func private @layer(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}
"""  # noqa: E501
    generic = """"builtin.module"() <{sym_name = "jit_conv"}> ({
  "func.func"() <{function_type = (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>, window_strides = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
    "func.return"(%0) : (tensor<1x8x8x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501
    return [pretty.encode(), generic.encode()]


def transformer() -> list[bytes]:
    """Configurations of small decoders: dense, with experts and windows, with latent attention, GPT-2."""
    sizes = dict(
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=16,
        vocab_size=32,
    )
    experts = dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=16)
    latent = dict(q_lora_rank=4, kv_lora_rank=4, qk_nope_head_dim=4, qk_rope_head_dim=2, v_head_dim=4)
    routed = dict(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, first_k_dense_replace=1)
    configs = (
        dict(model_type="llama", architectures=["LlamaForCausalLM"], **sizes) | dict(num_key_value_heads=1),
        dict(model_type="mixtral", **sizes, **experts),
        dict(model_type="deepseek_v3", topk_method="noaux_tc", n_shared_experts=1, **sizes, **latent, **routed),
        dict(model_type="gpt2", n_embd=8, n_layer=2, n_head=2, n_positions=16, vocab_size=32),
    )
    return [json.dumps(config).encode() for config in configs]
