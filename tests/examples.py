"""How many examples hypothesis tries: `make test` a third of those that continuous integration tries."""

from __future__ import annotations

from hypothesis import settings

DEFAULT = 100  # of the profile "thorough"
# List schedulers that are a rule on the machinery of heft and etf, which is tried hard by the tests of those: few examples each.
ALIKE = frozenset("dls hcpt hlfet ish lc lookahead max-min mcp min-min parametric peft pets sufferage".split())


def examples(n: int) -> settings:
    """Settings of a property test: `n` examples with all tests, fewer with the quick profile, at least three."""
    return settings(max_examples=max(3, n * settings.default.max_examples // DEFAULT))
