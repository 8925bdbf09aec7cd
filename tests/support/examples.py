"""How many random problems tests try: `make test` a quarter of those that the thorough profile tries, as every night."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100  # hypothesis' own number
THOROUGH = 40  # of the profile of continuous integration
# List schedulers that are a rule on the machinery of heft and etf, which is tried hard by the tests of those: few examples each.
ALIKE = frozenset(
    "bil dls dsc duplex fcp flb gdl hbmct hcpt hlfet ish lc lookahead max-min mcp min-min parametric peft pets sufferage".split()
)


def examples(n: int) -> settings:
    """Settings of a property test: `n` in a hundred of the profile's number of examples, at least three."""
    return settings(max_examples=max(3, n * settings.default.max_examples // USUAL))


def fewer(n: int) -> int:
    """How many of `n` random problems a test tries that makes them itself: all in continuous integration, at least three."""
    return max(min(n, 3), min(n, n * settings.default.max_examples // THOROUGH))
