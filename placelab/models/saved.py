"""Bytes that a layer's forward pass keeps of a token for its backward pass."""

from __future__ import annotations

from placelab.models.shape import Shape

SUM = 4  # bytes of float32, in which log-sum-exp and the router's probabilities are kept


def saved_bytes(shape: Shape, sparse: bool, width: int, attention: str = "flash", keys: float = 0.0) -> float:
    r"""Bytes that one token leaves in one layer, on one device.

    .. math:: 8h + 4ad + 4kd + 6f + 4a \quad (\text{llama, flash}), \qquad 34h\ (+ 5as \text{, eager})\ (\text{GPT})

    Parameters
    ----------
    sparse
        Whether the layer's MLP is a mixture of experts.
    width
        Bytes per element, ε; the formulas above have ε = 2.
    attention
        ``"flash"`` keeps the log-sum-exp, ``"eager"`` the probabilities: 2as, GPT with its dropout 5as.
    keys
        Keys per query, s, which ``"eager"`` needs.

    Notes
    -----
    Inputs of norms and products (8h; gemma2 12h: it has two more norms), q, k, v, the output of attention, gate, up and their
    product; the inputs of norms of q and k, and of latents, where there are any. A mixture of experts keeps 4E probabilities and
    K(2h + 6f_e) of the chosen experts in place of 6f. GPT-2's flash attention keeps no log-sum-exp here, as published.

    References
    ----------
    Korthikanti et al. (2022), Reducing activation recomputation in large transformer models, §4.
    """
    return inner_bytes(shape, sparse, width, attention, keys) + outer_bytes(shape, width)


def outer_bytes(shape: Shape, width: int) -> float:
    """The part outside of the tensor-parallel region: inputs of norms and of the two halves of a layer; GPT's dropout masks."""
    h = shape.hidden
    if shape.gpt:
        return (4 * width + 2) * h
    return (6 if shape.family == "gemma2" else 4) * width * h


def inner_bytes(shape: Shape, sparse: bool, width: int, attention: str = "flash", keys: float = 0.0) -> float:
    """The part that tensor parallelism divides by its degree: what is kept per head, per column of an MLP, per expert."""
    return _attention(shape, width, attention, keys) + _mlp(shape, sparse, width)


def score_bytes(shape: Shape, width: int, attention: str, keys: float) -> float:
    """Of that, what stands for the scores: log-sum-exp or probabilities."""
    if shape.gpt:
        return (2 * width + 1) * shape.heads * keys if attention == "eager" else 0.0
    return width * shape.heads * keys if attention == "eager" else float(SUM * shape.heads)


def _attention(shape: Shape, width: int, attention: str, keys: float) -> float:
    latent = shape.latent
    kept = shape.query_size + shape.key_size + shape.value_size + shape.context_size
    if latent:
        kept += 2 * latent.kv + 2 * (latent.query or 0)
    if shape.head_norms:
        kept += shape.query_size + shape.key_size
    return width * kept + score_bytes(shape, width, attention, keys)


def _mlp(shape: Shape, sparse: bool, width: int) -> float:
    if shape.gpt:
        return 2 * width * shape.width
    if not sparse:
        return 3 * width * shape.width
    experts = shape.chosen * width * (shape.hidden + 3 * shape.expert_width)
    return SUM * shape.experts + experts + 3 * width * shape.shared_width
