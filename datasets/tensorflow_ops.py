"""Write the outputs of all TensorFlow ops to ``placelab/formats/tensorflow/op_types.txt``, from the installed TensorFlow.

A graph file has an op's type attributes; only TensorFlow's registry of ops has the outputs that they belong to. The table has a
line per op with its outputs and the source of their types::

    Relu activations:T              the attribute T
    Unique y:T idx:out_idx          two outputs, each with the attribute that holds its type
    Less z:10                       a type by number: bool
    Split output:T*num_split        as many outputs as the attribute says
    While output:T@                 one output per type in a list
    Assign output_ref:T&            a reference to a variable

    python datasets/tensorflow_ops.py
"""

from __future__ import annotations

from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "placelab" / "formats" / "tensorflow" / "op_types.txt"
# Prefixes of ops that users' graphs lack.
HIDDEN = (
    "_",
    "Mkl",
    "Experimental",
    "BoostedTrees",
    "LoadTPU",
    "RetrieveTPU",
    "Xla",
    "TPU",
)


def table() -> str:
    """The lines of all ops that the installed TensorFlow knows, sorted."""
    from tensorflow.core.framework.op_def_pb2 import OpList
    from tensorflow.python.client.pywrap_tf_session import TF_GetAllOpList, TF_GetBuffer

    ops = [op for op in OpList.FromString(TF_GetBuffer(TF_GetAllOpList())).op if not op.name.startswith(HIDDEN)]
    lines = {op.name: [f"{output.name}:{declared(output)}" for output in op.output_arg] for op in ops}
    return "".join(" ".join([name, *lines[name]]) + "\n" for name in sorted(lines))


def declared(output) -> str:
    """The type of one output in the notation of the table."""
    kind = output.type_attr or output.type_list_attr or str(output.type)
    count = f"*{output.number_attr}" if output.number_attr else ""
    return kind + count + "@" * bool(output.type_list_attr) + "&" * output.is_ref


if __name__ == "__main__":
    TABLE.write_text(table())
