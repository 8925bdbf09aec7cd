"""Ranks from priorities, ties by number."""

from placelab.kernels.jit import kernel


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
