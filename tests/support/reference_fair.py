"""Links that transfers share max-min fairly, written as plainly as possible: one number per pair of devices, no heap."""

from __future__ import annotations

from placelab.problem.cluster import Cluster


class FairNetwork:
    """Flows by pair of devices; those of one pair have one rate and have all got `served` bytes since the pair was idle."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.flows: dict[tuple[int, int], dict[int, float]] = {}  # of a pair: transfer → `served` at which it ends
        self.served: dict[tuple[int, int], float] = {}
        self.since: dict[tuple[int, int], float] = {}
        self.rate: dict[tuple[int, int], float] = {}
        self.due: dict[tuple[int, int], float] = {}
        self.changed: set[tuple[int, int]] = set()

    def begin(self, i: int, source: int, destination: int, size: float, now: float) -> None:
        pair = source, destination
        if pair not in self.flows:
            self.flows[pair] = {}
            self.served[pair] = 0.0
            self.since[pair] = now
            self.rate[pair] = 0.0
        self.serve(pair, now)
        self.flows[pair][i] = self.served[pair] + size
        self.changed.add(pair)

    def serve(self, pair: tuple[int, int], now: float) -> None:
        if now > self.since[pair]:
            self.served[pair] += self.rate[pair] * (now - self.since[pair])
            self.since[pair] = now

    def ends(self) -> list[float]:
        """When each pair's next flow ends, unless rates change before."""
        return list(self.due.values())

    def end(self, now: float) -> list[int]:
        """Transfers that end now."""
        ended = []
        for pair in [pair for pair, time in self.due.items() if time <= now]:
            flows = self.flows[pair]
            self.served[pair] = min(flows.values())
            self.since[pair] = now
            over = [i for i, size in flows.items() if size == self.served[pair]]
            ended += over
            for i in over:
                del flows[i]
            del self.due[pair]
            self.changed.add(pair)
            if not flows:
                del self.flows[pair]
        return ended

    def share(self, now: float) -> None:
        """New rates, if a flow has begun or ended."""
        if not self.changed:
            return
        for pair, rate in fair_rates(self.cluster, {pair: len(flows) for pair, flows in self.flows.items()}).items():
            if pair in self.changed or rate != self.rate[pair]:
                self.serve(pair, now)
                self.rate[pair] = rate
                self.due[pair] = now + max(min(self.flows[pair].values()) - self.served[pair], 0.0) / rate
        self.changed.clear()


def fair_rates(cluster: Cluster, flows: dict[tuple[int, int], int]) -> dict[tuple[int, int], float]:
    """Rate of each flow by pair, when pairs have so many: progressive filling, link by link."""
    alone = {pair: cluster.bandwidth[pair] / n for pair, n in flows.items()}
    users = {link: {pair for pair in flows if pair in link.pairs} for link in cluster.links}
    rate = {pair: alone[pair] for pair in flows if not any(pair in users[link] for link in users)}
    left = {link: link.bandwidth for link in users}
    level = 0.0
    while len(rate) < len(flows):
        waiting = {link: sum(flows[pair] for pair in users[link] - rate.keys()) for link in users}
        share = {link: max(left[link] / n, level) for link, n in waiting.items() if n}
        level = min(share.values())
        new = {pair: alone[pair] for pair in flows.keys() - rate.keys() if alone[pair] <= level}
        full = min(share, key=lambda link: share[link])  # of equals the first
        new = new or {pair: level for pair in users[full] - rate.keys()}
        for pair in sorted(new):
            rate[pair] = new[pair]
            for link in users:
                left[link] -= flows[pair] * new[pair] if pair in users[link] else 0.0
    return rate
