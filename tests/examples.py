"""How many examples hypothesis tries: `make test` a third of those that continuous integration tries."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100  # hypothesis' own number
# List schedulers that are a rule on the machinery of heft and etf, which is tried hard by the tests of those: few examples each.
ALIKE = frozenset("bil dls hcpt hlfet ish lc lookahead max-min mcp min-min parametric peft pets sufferage".split())


def examples(n: int) -> settings:
    """Settings of a property test: `n` in a hundred of the profile's number of examples, at least three."""
    return settings(max_examples=max(3, n * settings.default.max_examples // USUAL))
