"""Which commands fit what is typed, and which of them best: words that few commands have tell more than words of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

# Words that say nothing of what is wanted.
FILLING = frozenset(
    "a an and are as at be can could do does for from how i in into is it me my of on please should show so that the there this "
    "to use want what will with would".split()
)
SHORT = 2  # letters of a word that in a sentence counts only where it is a command's whole word
# What newcomers call clusters and strategies, beside their names.
OTHER_WORDS: Mapping[str, str] = {
    "uniform": "equal homogeneous same identical",
    "mayer50": "heterogeneous fifty different",
    "pcie_box": "workstation",
    "nvlink_box": "dgx a100 nvswitch",
    "h100_box": "dgx hopper nvswitch",
    "two_nodes": "multi node servers ethernet hosts dgx",
    "rtx2080ti_box": "geforce consumer gaming cheap",
    "cp-sat": "exact solver optimal optimum constraint",
    "ilp": "exact solver optimal optimum integer linear program",
    "portfolio": "metaheuristic local search annealing genetic evolutionary tabu",
    "policy-gradient": "reinforcement learning rl neural",
    "cem": "cross entropy learning",
    "min-cut": "metis graph partitioning",
    "contiguous": "pipeline stages",
    "single": "one gpu alone sequential",
    "none": "ignore unlimited infinite without off",
}


def ranking(text: str, entries: Sequence[tuple[str, str]]) -> list[int]:
    """The numbers of the entries that fit a text, the best first.

    Parameters
    ----------
    text
        What is typed, in small letters.
    entries
        The phrase of each command, and more words that it is found by.

    Notes
    -----
    Where each word typed begins a word of some entries, these fit. Else, as in a sentence, those fit in which most of the words
    that tell something are, each counted by how few entries have it.

    Examples
    --------
    >>> entries = [("keep", "compare"), ("pin an op", "tie lock"), ("unpin everything", "free op")]
    >>> ranking("pin", entries), ranking("how do i lock an op?", entries), ranking("such a thing", entries)
    ([1], [1], [])
    """
    words = [(_words(phrase), _words(more)) for phrase, more in entries]
    tokens = text.rstrip("?!.").split()
    fits = [i for i, each in enumerate(words) if all(_quality(token, each) for token in tokens)]
    whole = bool(fits)
    if not whole:
        tokens = [token for token in tokens if token not in FILLING]
    quality = {token: [_quality(token, each, not whole and len(token) <= SHORT) for each in words] for token in tokens}
    if not whole and not any(any(found) for token, found in quality.items() if len(token) > SHORT):
        return []
    rarity = {token: 1 / sqrt(sum(q > 0 for q in found) or 1) for token, found in quality.items()}
    score = [sum(rarity[token] * found[i] for token, found in quality.items()) for i in range(len(entries))]
    if not whole:
        fits = [i for i, value in enumerate(score) if value > max(score) / 2]

    def order(i: int) -> tuple[bool, bool, float]:
        phrase = entries[i][0]
        return text not in phrase, not phrase.startswith(text), -score[i]

    return sorted(fits, key=order)


def _words(text: str) -> set[str]:
    """The words of a text, parts of those with a hyphen among them."""
    text = text.lower()
    return {*text.split(), *text.replace("-", " ").split()}


def _quality(token: str, words: tuple[set[str], set[str]], exact: bool = False) -> float:
    """How well a word typed fits an entry: one of its phrase counts more, a whole one more than a beginning, 0 for none."""
    single = token[:-1] if len(token) > 3 and token.endswith("s") and not token.endswith("ss") else token
    for group, most in zip(words, (4.0, 3.0), strict=True):
        if token in group or single in group or f"{single}s" in group:
            return most
        if not exact and any(word.startswith(single) for word in group):
            return most - 1.0
    return 0.0
