"""Longest paths to and from each op: one sweep over the edges each, ops being numbered topologically."""

from math import inf

from placelab.kernels.heap import pop_event, pop_key, push_event, push_key
from placelab.kernels.jit import helper, inlined, kernel
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


BITS = 64  # of a priority, a float


@inlined
def falling_key(bits):
    """A whole number that is the less the greater the float with these bits is."""
    return ~(bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF)


@helper
def differing_bits(key):
    """The lowest bit in which any two keys differ, and the one after the highest; (0, 0) where all are equal."""
    differ = 0
    for i in range(len(key)):
        differ |= key[i] ^ key[0]
    low = 0
    high = 0
    if differ != 0:
        high = BITS
        while (differ >> low) & 1 == 0:
            low += 1
        while (differ >> high - 1) & 1 == 0:
            high -= 1
    return low, high


@kernel
def rank_falling(bits, width, item, rank, shared, key, other_key, other_item, counter):
    """Rank items by falling priority, equal priorities by item number: sort them digit by digit, from the lowest. O(n).

    `bits`: those of the priorities, floats without -0.0, as whole numbers. Results: ``item[rank]``, ``rank[item]``, and
    ``shared[item]``, the lowest rank among the items of equal priority, -1 where there is no other. Returns whether any are
    equal; where not, `shared` is left alone.
    `width`: bits of a digit. Workspace: `key`, `other_key`, `other_item`, and `counter`, of ``2**width``.
    """
    n = len(bits)
    for v in range(n):
        key[v] = falling_key(bits[v])
        item[v] = v
    low, high = differing_bits(key)
    mask = (1 << width) - 1
    sorted_item = item
    for shift in range(low, high, width):
        sign = 1 << width - 1 if shift + width >= BITS else 0  # turned, so that negative keys come first
        for i in range(1 << width):
            counter[i] = 0
        for i in range(n):
            counter[(key[i] >> shift) & mask ^ sign] += 1
        below = 0
        for i in range(1 << width):
            count = counter[i]
            counter[i] = below
            below += count
        for i in range(n):
            digit = (key[i] >> shift) & mask ^ sign
            at = counter[digit]
            counter[digit] = at + 1
            other_key[at] = key[i]
            other_item[at] = sorted_item[i]
        key, other_key = other_key, key
        sorted_item, other_item = other_item, sorted_item
    equal = False
    for i in range(n):
        v = sorted_item[i]
        item[i] = v
        rank[v] = i
        equal = equal or (i > 0 and key[i] == key[i - 1])
    if equal:
        share(key, item, shared)
    return equal


@helper
def share(key, item, shared):
    """``shared[item]``: the lowest rank among the items of the same key, -1 where there is no other; keys and items by rank."""
    for v in range(len(item)):
        shared[v] = -1
    first = 0
    for i in range(1, len(item)):
        if key[i] != key[i - 1]:
            first = i
        else:
            shared[item[first]] = first
            shared[item[i]] = first


@helper
def to_steps(rank, n, largest, scale, border, steps, near, exact):
    """As :func:`round_to_steps`, of the first n ranks."""
    count = 0
    for v in range(n):
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
def round_to_steps(rank, largest, scale, border, steps, near, exact):
    """``steps[v] = round(rank[v] / largest * scale)``, halves to even. O(n).

    Results: `steps`; the items closer than `border` to the border between two steps, in `near`, and their unrounded values, in
    `exact`. Returns how many these are.
    """
    return to_steps(rank, len(rank), largest, scale, border, steps, near, exact)


@helper
def join(near, exact, rising, count, same, steps):
    """As :func:`join_across_borders`, of the first so many."""
    before = -1.0
    lowest = 0.0
    for j in range(count):
        i = rising[j]
        if exact[i] - before > same:
            lowest = steps[near[i]]
        before = exact[i]
        steps[near[i]] = lowest


@kernel
def join_across_borders(near, exact, rising, same, steps):
    """Give equal values on both sides of a border the number of the lower one. O(n).

    `rising` sorts `exact`, the values of the items `near`; neighbours at most `same` apart are equal. Result: `steps`.
    """
    join(near, exact, rising, len(rising), same, steps)


@helper
def compared_as(rank, n, largest, scale, border, same, steps, near, exact, heap, rising):
    """Ranks as they are compared, the first n, to `steps`: both kernels above, with the sort between them in `heap`."""
    if not largest > 0.0:
        for v in range(n):
            steps[v] = 0.0
        return
    count = to_steps(rank, n, largest, scale, border, steps, near, exact)
    size = 0
    for i in range(count):
        size = push_event(heap, size, exact[i], float(i))
    for i in range(count):
        rising[i] = int(heap[1])
        size = pop_event(heap, size)
    join(near, exact, rising, count, same, steps)


@kernel
def path_by_means(
    latency, per_byte, pred_ptr, succ, up, scale, border, same, way, steps, near, exact, heap, rising, path
):
    """Ops of a longest path by mean times, to `path`, lower numbers at ties; returns how many. O(path · degree + ops).

    It begins at the entry op of the highest rank `up`, and goes on to the successor that attains the maximum, compared in steps.
    Workspace, as long as there are ops or edges: `way`, `steps`, `near`, `exact`, `heap` (two each), `rising`.
    """
    n = 0
    most = 0.0
    for v in range(len(up)):
        if pred_ptr[v] == pred_ptr[v + 1]:
            near[n] = v
            way[n] = up[v]
            most = up[v] if up[v] > most else most
            n += 1
    for i in range(n):
        path[i] = near[i]  # for the while
    compared_as(way, n, most, scale, border, same, steps, near, exact, heap, rising)
    best = 0
    for i in range(1, n):
        if steps[i] > steps[best]:
            best = i
    v = path[best]
    path[0] = v
    count = 1
    largest = 0.0
    for u in range(len(up)):
        largest = up[u] if up[u] > largest else largest
    while succ.ptr[v] < succ.ptr[v + 1]:
        first = succ.ptr[v]
        n = succ.ptr[v + 1] - first
        for i in range(n):
            way[i] = latency + succ.bytes[first + i] * per_byte + up[succ.consumer[first + i]]
        compared_as(way, n, largest, scale, border, same, steps, near, exact, heap, rising)
        longest = steps[0]
        v = succ.consumer[first]
        for i in range(1, n):
            w = succ.consumer[first + i]
            if steps[i] > longest or (steps[i] == longest and w < v):
                longest = steps[i]
                v = w
        path[count] = v
        count += 1
    return count


@kernel
def device_of_path(path, times, eligible, total):
    """The device that may run most ops of a path, of those the one that runs them soonest, lower numbers at ties.

    Workspace: `total`. O(path · devices).
    """
    best = 0
    most = -1
    for d in range(len(total)):
        total[d] = 0.0
        may = 0
        for i in range(len(path)):
            if may_run(path[i], d, eligible):
                total[d] += exec_time(path[i], d, times)
                may += 1
        if may > most or (may == most and total[d] < total[best]):
            most = may
            best = d
    return best


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
