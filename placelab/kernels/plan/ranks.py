"""Longest paths to and from each op: one sweep over the edges each, ops being numbered topologically."""

from math import inf

from placelab.kernels.heap import pop_key, push_key
from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import exec_time, may_run


@kernel
def upward(weight, succ, latency, per_byte, rank):
    """``rank[v] = weight[v] + max over edges v -> s of (latency + bytes * per_byte + rank[s])``. O(ops + edges)."""
    for v in range(len(weight) - 1, -1, -1):
        longest = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            x = latency + succ.bytes[e] * per_byte + rank[succ.consumer[e]]
            if x > longest:
                longest = x
        rank[v] = weight[v] + longest


@kernel
def downward(weight, succ, latency, per_byte, rank):
    """``rank[v] = max over edges u -> v of (rank[u] + weight[u] + latency + bytes * per_byte)``, 0 without. O(ops + edges)."""
    for v in range(len(weight)):
        rank[v] = 0.0
    for u in range(len(weight)):
        done = rank[u] + weight[u]
        for e in range(succ.ptr[u], succ.ptr[u + 1]):
            x = done + (latency + succ.bytes[e] * per_byte)
            v = succ.consumer[e]
            if x > rank[v]:
                rank[v] = x


@kernel
def path_computation_time(exec_time, device, succ, network, rank, transfer_rank):
    """PCT of a placement, of ops and (unless `transfer_rank` is empty) of transfers.

    Results: ``rank[v] = exec + max over consumers s of (way + rank[s])``, where way is 0 on the same device and otherwise
    ``send[source] + latency + bytes / bandwidth + send[destination]``;
    ``transfer_rank[t * devices + d]`` is the largest ``way + rank[s]`` over the consumers s of tensor t on another
    device d, 0 where t does not travel. O(ops + edges + transfer ranks).
    """
    k = len(network.send)
    wanted = len(transfer_rank) > 0
    for i in range(len(transfer_rank)):
        transfer_rank[i] = 0.0
    for v in range(len(exec_time) - 1, -1, -1):
        home = device[v]
        longest = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            s = succ.consumer[e]
            d = device[s]
            t = succ.tensor[e]
            link = home * k + d  # on a device's link to itself the latency is 0 and the bandwidth infinite
            away = 1.0 if d != home else 0.0
            way = away * network.send[home] + network.latency[link] + succ.bytes[e] / network.bandwidth[link]
            x = way + (away * network.send[d] + rank[s])
            longest = x if x > longest else longest
            if wanted and d != home and x > transfer_rank[t * k + d]:
                transfer_rank[t * k + d] = x
        rank[v] = exec_time[v] + longest


@kernel
def precedence_order(place, item, succ, missing, heap, order):
    """Order of list scheduling: of the ops whose inputs are all listed, always the one of the smallest ``place[v]`` next.

    `place` numbers the ops from 0, ``item[place[v]] == v``. Workspace: `missing`, `heap`. Result: `order`.
    O(ops log ops + edges).
    """
    n = len(place)
    for v in range(n):
        missing[v] = 0
    for e in range(len(succ.consumer)):
        missing[succ.consumer[e]] += 1
    size = 0
    for v in range(n):
        if missing[v] == 0:
            push_key(heap, 0, size, place[v])
            size += 1
    i = 0
    while size > 0:
        v = item[heap[0]]
        pop_key(heap, 0, size)
        size -= 1
        order[i] = v
        i += 1
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            missing[w] -= 1
            if missing[w] == 0:
                push_key(heap, 0, size, place[w])
                size += 1


@kernel
def repair_ties(priority, order, run, start, rank, item, shared):
    """Ranks of items by falling priority, equal priorities by item number.

    `order` sorts the items by falling priority, equal ones in any order (numpy's fast sort is not stable, and not equally so on
    every machine). Results: ``item[rank]``, ``rank[item]``, and ``shared[item]``, the lowest rank among the items of equal
    priority, -1 where there is no other. Workspace: `run`, `start`. Returns whether any are equal; where not, `shared` is left
    alone. O(n).
    """
    n = len(order)
    r = -1
    last = 0.0
    for i in range(n):
        p = priority[order[i]]
        if i == 0 or p != last:
            r += 1
            start[r] = i
            last = p
        run[order[i]] = r
    for v in range(n):
        i = start[run[v]]
        start[run[v]] = i + 1
        item[i] = v
        rank[v] = i
    if r + 1 == n:
        return False
    for v in range(n):  # by now a run's start is where the next run starts
        r = run[v]
        first = start[r - 1] if r > 0 else 0
        shared[v] = first if start[r] - first > 1 else -1
    return True


@kernel
def round_to_steps(rank, largest, scale, border, steps, near, exact):
    """``steps[v] = round(rank[v] / largest * scale)``, halves to even. O(n).

    Results: `steps`; the items closer than `border` to the border between two steps, in `near`, and their unrounded values, in
    `exact`. Returns how many these are.
    """
    count = 0
    for v in range(len(rank)):
        x = rank[v] / largest * scale
        whole = float(round(x))
        rest = x - whole
        if rest > 0.5 - border or rest < border - 0.5:
            near[count] = v
            exact[count] = whole + rest
            count += 1
        steps[v] = whole
    return count


@kernel
def join_across_borders(near, exact, rising, same, steps):
    """Give equal values on both sides of a border the number of the lower one. O(n).

    `rising` sorts `exact`, the values of the items `near`; neighbours at most `same` apart are equal. Result: `steps`.
    """
    before = -1.0
    lowest = 0.0
    for j in range(len(rising)):
        i = rising[j]
        if exact[i] - before > same:
            lowest = steps[near[i]]
        before = exact[i]
        steps[near[i]] = lowest


@kernel
def optimistic_cost(latency, per_byte, succ, times, network, eligible, ahead, table):
    """``table[v * k + d]`` = max over edges v -> s of min over devices w of table[s, w] + exec(s, w) + transfer, 0 at exits.

    A transfer takes ``latency + bytes * per_byte``, if `latency` is negative what the link takes; 0 where w = d. ``ahead[v *
    k + w]`` is table[v, w] + exec(v, w). O(edges k), with links O(edges k^2).
    """
    k = len(network.send)
    n = len(succ.ptr) - 1
    for v in range(n - 1, -1, -1):
        for d in range(k):
            table[v * k + d] = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            s = succ.consumer[e] * k
            size = succ.bytes[e]
            least = inf
            for w in range(k):
                if ahead[s + w] < least:
                    least = ahead[s + w]
            for d in range(k):
                x = ahead[s + d]
                if latency >= 0.0:
                    x = min(x, least + (latency + size * per_byte))
                else:
                    for w in range(k):
                        x = min(x, ahead[s + w] + (network.delay[d * k + w] + size / network.bandwidth[d * k + w]))
                if x > table[v * k + d]:
                    table[v * k + d] = x
        for w in range(k):
            ahead[v * k + w] = table[v * k + w] + exec_time(v, w, times) if may_run(v, w, eligible) else inf


@kernel
def parents_first(root, parent, ptr, at, listed, stack, order):
    """List the ops of `root` in turn, before each those of its parents, ``parent[ptr[v]:ptr[v + 1]]``, that are not yet listed.

    Workspace, int32 (n,): `at`, `listed`, `stack`. Result: `order`. O(ops + edges).
    """
    for v in range(len(root)):
        at[v] = ptr[v]
        listed[v] = 0
    count = 0
    for i in range(len(root)):
        if listed[root[i]] != 0:
            continue
        stack[0] = root[i]
        size = 1
        while size > 0:
            v = stack[size - 1]
            while at[v] < ptr[v + 1] and listed[parent[at[v]]] != 0:
                at[v] += 1
            if at[v] < ptr[v + 1]:
                stack[size] = parent[at[v]]
                size += 1
            else:
                size -= 1
                listed[v] = 1
                order[count] = v
                count += 1
