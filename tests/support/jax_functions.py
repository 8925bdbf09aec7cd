"""Functions of JAX with arguments, whose programs XLA makes and whose operations it counts."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

NHWC = ("NHWC", "HWIO", "NHWC")
NCHW = ("NCHW", "OIHW", "NCHW")


def some(*shape: int) -> np.ndarray:
    """Random numbers: numpy's, as an array of JAX for each of these would take its compiler seconds of each import."""
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def mlp(parameters, x):
    """Three dense layers."""
    *hidden, (w, b) = parameters
    for v, a in hidden:
        x = jnp.maximum(x @ v + a, 0)
    return x @ w + b


def attention(q, k, v):
    """Scaled dot products over heads."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8.0
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def layernorm(x, scale, shift):
    """Normalised rows."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def block(p, x):
    """A block of a transformer."""
    h = layernorm(x, p["scale"], p["shift"])
    q, k, v = (jnp.reshape(h @ p[name], (2, 16, 4, 16)).transpose(0, 2, 1, 3) for name in "qkv")
    x = x + attention(q, k, v).transpose(0, 2, 1, 3).reshape(2, 16, 64) @ p["out"]
    return x + jax.nn.gelu(layernorm(x, p["scale"], p["shift"]) @ p["up"]) @ p["down"]


def conv(x, w, stride=1, padding="SAME", numbers=NHWC, **more):
    """A convolution."""
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=numbers, **more)


def recurrent(w, u, x):
    """A recurrent cell in a scan."""

    def cell(h, t):
        h = jnp.tanh(h @ w + t @ u)
        return h, h

    return lax.scan(cell, jnp.zeros((4, 32)), x)


def squared(function: Callable, *which: int) -> Callable:
    """The gradient of the sum of a function's squares."""
    return jax.grad(lambda *arguments: (function(*arguments) ** 2).sum(), which or 0)


def pool(x, start, combine, stride):
    """Windows of 3 × 3."""
    return lax.reduce_window(x, start, combine, (1, 3, 3, 1), (1, stride, stride, 1), "SAME")


LAYERS = [(some(32, 64), some(64)), (some(64, 64), some(64)), (some(64, 10), some(10))]
HEADS = (some(2, 4, 16, 16), some(2, 4, 16, 16), some(2, 4, 16, 16))
SIZES = dict(scale=(64,), shift=(64,), q=(64, 64), k=(64, 64), v=(64, 64), out=(64, 64), up=(64, 256), down=(256, 64))
WEIGHTS = {name: some(*shape) for name, shape in SIZES.items()}
IMAGES = some(2, 16, 16, 8)
NARROW = dict(stride=2, padding=[(1, 1), (1, 1)], numbers=NCHW)

# Name → function and arguments. Programs without loops, so that XLA's numbers are what they are.
STRAIGHT: dict[str, tuple] = {
    "mlp": (mlp, LAYERS, some(16, 32)),
    "gradient of mlp": (squared(mlp), LAYERS, some(16, 32)),
    "convolution": (conv, some(2, 16, 16, 3), some(3, 3, 3, 8)),
    "gradient of convolution": (squared(conv, 0, 1), some(2, 16, 16, 3), some(3, 3, 3, 8)),
    "strided": (lambda x, w: conv(x, w, **NARROW), some(2, 3, 17, 17), some(8, 3, 3, 3)),
    "gradient of strided": (squared(lambda x, w: conv(x, w, **NARROW), 0, 1), some(2, 3, 17, 17), some(8, 3, 3, 3)),
    "depthwise": (lambda x, w: conv(x, w, feature_group_count=8), IMAGES, some(3, 3, 1, 16)),
    "gradient of depthwise": (squared(lambda x, w: conv(x, w, feature_group_count=8), 1), IMAGES, some(3, 3, 1, 16)),
    "transposed": (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), some(2, 8, 8, 3), some(3, 3, 3, 4)),
    "dilated": (lambda x, w: conv(x, w, rhs_dilation=(2, 3)), some(2, 16, 16, 3), some(3, 3, 3, 4)),
    "softmax": (jax.nn.softmax, some(32, 64)),
    "attention": (attention, *HEADS),
    "gradient of attention": (squared(attention, 0, 1, 2), *HEADS),
    "layer norm": (layernorm, some(32, 64), some(64), some(64)),
    "reductions": (lambda x: (x.sum(0), x.max(1), x.mean(), jnp.prod(x, 1), jnp.argmax(x, 1)), some(32, 64)),
    "branch": (lambda p, x: lax.cond(p, lambda b: b @ b @ b, lambda b: b + 1, x), True, some(16, 16)),
    "switch": (lambda p, x: lax.switch(p, [jnp.sin, lambda b: b @ b, jnp.negative], x), 1, some(16, 16)),
    "batched product": (jnp.matmul, some(8, 16, 32), some(8, 32, 8)),
    "einsum": (lambda a, b: jnp.einsum("bij,kjl->bikl", a, b), some(3, 8, 16), some(5, 16, 4)),
    "transformer block": (block, WEIGHTS, some(2, 16, 64)),
    "gradient of block": (squared(block), WEIGHTS, some(2, 16, 64)),
    "cumulative sum": (lambda x: jnp.cumsum(x, 1), some(8, 100)),
    "sort": (lambda x: jnp.sort(x, 1), some(8, 100)),
    "largest of windows": (lambda x: pool(x, -jnp.inf, lax.max, 2), IMAGES),
    "gradient of windows": (squared(lambda x: pool(x, -jnp.inf, lax.max, 2)), IMAGES),
    "sum of windows": (lambda x: pool(x, 0.0, lax.add, 1), IMAGES),
    "embedding's gradient": (jax.grad(lambda t, i: (t[i] ** 2).sum()), some(100, 16), jnp.arange(10)),
    "exact gelu": (lambda x: jax.nn.gelu(x, approximate=False), some(32, 64)),
    "Fourier transforms": (lambda x: jnp.abs(jnp.fft.fft(x)) + jnp.abs(jnp.fft.rfft2(x)).sum(), some(4, 64)),
    "half precision": (lambda a, b: (a @ b).sum(), *(some(64, 64).astype(jnp.bfloat16),) * 2),
    "recomputed": (
        jax.grad(jax.checkpoint(lambda w, x: jnp.tanh(jnp.tanh(x @ w) @ w).sum())),
        some(32, 32),
        some(8, 32),
    ),
}
# With loops: XLA counts each once. Name → function, arguments, trips of each loop (1: not known).
LOOPS: dict[str, tuple] = {
    "scan": (recurrent, (some(32, 32), some(8, 32), some(10, 4, 8)), [10]),
    "gradient of scan": (
        squared(lambda *a: recurrent(*a)[1], 0, 1),
        (some(32, 32), some(8, 32), some(10, 4, 8)),
        [10, 10],
    ),
    "counted": (lambda x: lax.fori_loop(2, 9, lambda i, c: jnp.sin(c) @ c, x), (some(16, 16),), [7]),
    "open": (lambda x: lax.while_loop(lambda c: c.sum() < 99.0, lambda c: c @ c + 1, x), (some(16, 16),), [None]),
    "map": (lambda x: lax.map(lambda a: a @ a, x), (some(5, 8, 8),), [5]),
}
