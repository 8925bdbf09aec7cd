"""A decoder read from its configuration: blocks with their parameters, FLOP and bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from placelab.base.errors import FormatError, UnsupportedError, count, described
from placelab.base.fields import read_from
from placelab.base.files import json_of, path_of, read_file
from placelab.base.interrupts import need
from placelab.models import graph as building
from placelab.models.config import CONFIGS, shape_of
from placelab.models.shape import Shape, attention_matrices, mlp_matrices, norms, saved_bytes
from placelab.problem.graph import OpGraph

if TYPE_CHECKING:
    import pandas as pd


DTYPES = {"bfloat16": 2, "float16": 2, "float32": 4}  # bytes of an element
CONFIG = "config.json"
EXPECTED = "a config.json of a Hugging Face transformer"
MOST_BYTES = 1 << 20
TOKENS = 1_000_000_000
USUAL = 4096  # tokens of a sequence
SIZES = {"hidden_size", "num_hidden_layers"}  # keys by which a configuration without a model_type is known


def read(config: Any, *, dtype: str = "bfloat16") -> Transformer:
    """Read a decoder from its configuration: no weights, no network, nothing executed.

    Parameters
    ----------
    config
        The contents of a ``config.json`` as a dict, the path of such a file or of its folder, or a name of
        :func:`placelab.models.names`.
    dtype
        Type of weights, activations and cache: ``"bfloat16"``, ``"float16"`` or ``"float32"``. What the configuration says of
        types and quantisation is not read.

    Returns
    -------
    Transformer
        Its blocks and sizes.

    Raises
    ------
    UnsupportedError
        A ``model_type`` or a `dtype` that is not known.
    FormatError
        No configuration; a key that is missing, of a wrong type or out of range; heads that do not divide the hidden size
        where there is no ``head_dim``; more experts per token than experts.

    Notes
    -----
    Families: llama, mistral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gpt2, mixtral, deepseek_v2, deepseek_v3. Parameters are
    exact. O(layers).

    Examples
    --------
    >>> read("llama-3-8b").parameters
    8030261248
    """
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise UnsupportedError(f"dtype is {dtype!r:.60}; expected one of {', '.join(DTYPES)}")
    document, where = _document(config)
    with read_from(where):
        return Transformer(title(document, where), shape_of(document), dtype)


def names() -> list[str]:
    """Names of the bundled models.

    >>> "llama-3-8b" in names()
    True
    """
    return list(CONFIGS)


def _document(config: Any) -> tuple[Mapping[str, Any], str]:
    """A configuration and the words for it in messages."""
    if isinstance(config, Mapping):
        return config, "the configuration"
    if isinstance(config, str) and config in CONFIGS:
        return CONFIGS[config], config
    if not isinstance(config, (str, Path)):
        raise FormatError(f"models.read needs a dict, a path or the name of a bundled model, found {described(config)}")
    path = path_of(config)
    if os.path.isdir(path):
        path = path / CONFIG
        if not os.path.exists(path):
            raise FormatError(f"the folder {str(config)!a:.200} has no {CONFIG}")
    if not os.path.exists(path):
        raise FormatError(
            f"{str(config)!a:.200} is neither a bundled model ({', '.join(CONFIGS)}) nor a file that exists"
        )
    document = json_of(read_file(path, EXPECTED, MOST_BYTES), str(path), EXPECTED)
    if not isinstance(document, dict):
        raise FormatError(f"{path} is JSON of a different kind, {described(document)}; expected {EXPECTED}")
    return document, str(path)


def title(document: Mapping[str, Any], where: str) -> str:
    """A model's name: the bundled one, the folder of its file, or what the configuration says."""
    if where in CONFIGS:
        return where
    given = document.get("_name_or_path")
    name = given if isinstance(given, str) else ""
    folder = Path(where).parent.name if where.endswith(CONFIG) else ""
    return (" ".join(name.split()) or folder or str(document.get("model_type")))[-80:]


@dataclass(frozen=True)
class Transformer:
    """A decoder: made by :func:`placelab.models.read`.

    Attributes
    ----------
    name : str
        The model's name.
    shape : Shape
        Its sizes.
    dtype : str
        Type of weights, activations and cache.
    """

    name: str
    shape: Shape
    dtype: str = "bfloat16"

    def __repr__(self) -> str:
        return f"Transformer({self.name}: {self.shape.layers} layers, {self.parameters:,} parameters, {self.dtype})"

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.shape.layers

    @property
    def element_bytes(self) -> int:
        """Bytes of a weight, ε."""
        return DTYPES[self.dtype]

    @cached_property
    def blocks(self) -> pd.DataFrame:
        """Embedding, layers and head with the final norm: a row each, in the order in which they run.

        Returns
        -------
        DataFrame
            ``block`` (module path), ``kind`` (embedding, dense, moe, head), ``parameters`` (where embedding and head share a
            table, it counts at the embedding), ``active_parameters`` (those that one token uses), ``flop`` (FLOP of a token's
            products, forward, scores and context aside), ``flop_per_key`` (of scores and context, per token and key; latent
            attention as a forward pass computes it), ``activation_bytes`` (that a token leaves for the backward pass, with
            flash attention), ``kv_bytes`` (of a token in the cache).
        """
        need("pandas")
        import pandas as pd

        kinds = {sparse: self._block(sparse) for sparse in set(self.shape.sparse)}
        layers = [self._named(i) | kinds[sparse] for i, sparse in enumerate(self.shape.sparse)]
        rows = [self._embedding(), *layers, self._head()]
        return pd.DataFrame(rows)

    @cached_property
    def parameters(self) -> int:
        """All weights and biases, each once."""
        return self._sum("parameters")

    @cached_property
    def active_parameters(self) -> int:
        """Weights and biases that one token uses; the embedding table counts whole."""
        return self._sum("active_parameters")

    def kv_bytes(self, context: int, batch: int = 1) -> int:
        """Bytes of the KV cache of `batch` sequences of `context` tokens; layers with a window keep that many at most."""
        context = count(context, "context", 0, TOKENS)
        batch = count(batch, "batch", 1, TOKENS)
        return batch * sum(self.layer_kv_bytes(i, context) for i in range(self.layers))

    def layer_kv_bytes(self, layer: int, context: int) -> int:
        """Bytes that one layer's cache keeps of a sequence of `context` tokens."""
        window = self.shape.windows[layer]
        kept = context if window is None else min(context, window)
        return kept * self.shape.cached_size * self.element_bytes

    def graph(
        self,
        phase: Literal["train", "forward", "prefill", "decode"] = "train",
        *,
        batch: int = 1,
        sequence: int | None = None,
        context: int = 0,
        attention: Literal["flash", "eager"] = "flash",
        causal: Literal["half", "full"] = "half",
    ) -> OpGraph:
        """The ops of one pass, named by Hugging Face's module paths: ``model.layers.7.mlp.up_proj``.

        Parameters
        ----------
        phase
            ``"forward"``; ``"train"``: with backward and update ops; ``"prefill"``: fills the cache; ``"decode"``: the next token
            of each sequence.
        batch
            Sequences.
        sequence
            Tokens of each, by default 4096, of gpt2 as many as it has positions at most; decode has one.
        context
            Tokens of each in the cache before, in prefill and decode.
        attention
            ``"flash"``: one op, recomputed in the backward pass; ``"eager"``: scores, softmax, context.
        causal
            Keys per query: ``"half"``, those before it; ``"full"``, all, hidden or not. In decode, all before it.

        Returns
        -------
        OpGraph
            Compute in FLOP of products; other ops count none, they take the time of their bytes
            (:func:`placelab.costs.estimate`, whose default columns are there). Weights are ``persistent`` at the op that reads
            them, in decode and prefill the cache at the attention; their sum in a forward or train graph is that of the
            parameters. What backward ops read are tensors. An update op is plain gradient descent: the state of an optimiser is
            not in the graph.

        Raises
        ------
        UnsupportedError
            A phase, attention or causal of another name; a context in training; a graph of too many ops.
        FormatError
            A batch, sequence or context that is no such number, or more tokens than gpt2 has positions.

        Notes
        -----
        Routing is even. In decode, experts that no token chose are an op that takes no time, ``….unchosen``; latent attention
        runs on the latents (DeepSeek-V2 §2.1.2: absorbed), elsewhere on keys and values. Dropout (gpt2) is in training only.
        O(layers).

        Examples
        --------
        >>> graph = read("gpt2").graph("forward", sequence=8)
        >>> int(graph.persistent.sum()) // 2
        124439808
        """
        if sequence is None:
            sequence = min(USUAL, self.shape.positions or USUAL)
        sizes = building.Pass(phase, batch, sequence, context, attention, causal, self.dtype, self.element_bytes)
        return building.graph_of(self.shape, self.name, sizes)

    def _sum(self, column: str) -> int:
        rows = [self._embedding(), self._head()]
        layers = {sparse: self._block(sparse)[column] for sparse in set(self.shape.sparse)}
        return sum(row[column] for row in rows) + sum(layers[sparse] for sparse in self.shape.sparse)

    def _named(self, i: int) -> dict[str, Any]:
        prefix = "transformer.h" if self.shape.gpt else "model.layers"
        return {"block": f"{prefix}.{i}", "kind": "moe" if self.shape.sparse[i] else "dense"}

    def _block(self, sparse: bool) -> dict[str, Any]:
        shape = self.shape
        matrices = attention_matrices(shape) + mlp_matrices(shape, sparse)
        of_norms = sum(norms(shape).values())
        return {
            "parameters": sum(m.parameters for m in matrices) + of_norms,
            "active_parameters": sum(m.active_parameters for m in matrices) + of_norms,
            "flop": sum(m.flop for m in matrices),
            "flop_per_key": 2 * (shape.query_size + shape.context_size),
            "activation_bytes": int(saved_bytes(shape, sparse, self.element_bytes)),
            "kv_bytes": shape.cached_size * self.element_bytes,
        }

    def _embedding(self) -> dict[str, Any]:
        shape = self.shape
        table = (shape.vocabulary + shape.positions) * shape.hidden
        return _row("transformer.wte" if shape.gpt else "model.embed_tokens", "embedding", table, 0)

    def _head(self) -> dict[str, Any]:
        shape = self.shape
        table = shape.vocabulary * shape.hidden
        norm = shape.hidden * (2 if shape.gpt else 1)
        return _row("lm_head", "head", norm + (0 if shape.tied else table), 2 * table)


def _row(block: str, kind: str, parameters: int, flop: int) -> dict[str, Any]:
    counted = dict(parameters=parameters, active_parameters=parameters, flop=flop)
    return {"block": block, "kind": kind, **counted, "flop_per_key": 0, "activation_bytes": 0, "kv_bytes": 0}


def matches(document: Any) -> bool:
    """Whether the document is a configuration of a model."""
    return isinstance(document, dict) and ("model_type" in document or document.keys() >= SIZES)


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a file, which `where` names in messages."""
    if len(data) > MOST_BYTES:
        raise FormatError(f"{where} has {len(data):,} bytes; expected {EXPECTED}, {MOST_BYTES:,} at most")
    return graph_of(json_of(data, where, EXPECTED), where)


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph of a document."""
    if not matches(document):
        raise FormatError(f"{where} is JSON of a different kind; expected {EXPECTED}")
    with read_from(where):
        return Transformer(title(document, where), shape_of(document)).graph("forward")
