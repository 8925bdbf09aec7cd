"""Earliest task first: of all ready ops and devices always the pair that can start soonest.

Ops that are ready wait, per device, in two heaps: ``later`` by (when they could start, rank), and ``now`` by rank, of those
whose inputs will be there by the time the device is free. What is placed, or belongs to a group that has gone elsewhere, is
taken out when it comes to the top. ``rank`` is the op's place by falling priority, ``item`` the op of each rank; a heap of
device d begins at ``d * n``.
"""

from math import inf

from placelab.kernels.codes import FREE
from placelab.kernels.heap import pop_entry, pop_key, push_entry, push_key
from placelab.kernels.jit import helper, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.planned_transfers import inputs_on, take_links
from placelab.kernels.room_over_time import clear_room, start_with_room, take_room


@helper
def gone(v, d, device, group, group_device):
    """Whether v can no longer be placed on d: it is placed, or its group is elsewhere."""
    g = group[v]
    return device[v] >= 0 or (g >= 0 and group_device[g] >= 0 and group_device[g] != d)


@helper
def promote(d, n, free, item, device, group, group_device, later, n_later, now, n_now):
    """Move what device d could start as soon as it is free from ``later`` to ``now``; clear both tops of what is gone."""
    base = d * n
    while n_later[d] > 0:
        r = int(later[2 * base + 1])
        out = gone(item[r], d, device, group, group_device)
        if not out and later[2 * base] > free[d]:
            break
        pop_entry(later, base, n_later[d])
        n_later[d] -= 1
        if not out:
            push_key(now, base, n_now[d], r)
            n_now[d] += 1
    while n_now[d] > 0 and gone(item[now[base]], d, device, group, group_device):
        pop_key(now, base, n_now[d])
        n_now[d] -= 1


@kernel
def earliest_first(
    rank, item, pred_ptr, pred_edge, producer, edge_bytes, succ_ptr, consumer, cost, column, divisor, columns, delay, bandwidth,
    allowed, stride, group,
    # workspace
    group_device, ready, free, missing, later, n_later, now, n_now,
    # results
    device, start, finish, score, order,
):  # fmt: skip
    """The whole plan, memory and contention left out. Ties: rank, then the sooner finish, then the lower device.

    Results: ``device, start, finish`` (n,); ``order``: ops as placed; ``score[v * k + d]`` (when its length is n * k): when v,
    at the moment it was placed, could have started on d. O(n k log n + edges k).
    """
    n = len(device)
    k = len(free)
    record = len(score) == n * k
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
        n_later[d] = 0
        n_now[d] = 0
    for v in range(n):
        device[v] = -1
        missing[v] = pred_ptr[v + 1] - pred_ptr[v]
        if missing[v] == 0:
            for d in range(k):
                if allowed[v * stride + d] != 0:
                    push_key(now, d * n, n_now[d], rank[v])
                    n_now[d] += 1
    for step in range(n):
        best = -1
        soonest = inf
        best_rank = n
        done = inf
        for d in range(k):
            if free[d] > soonest:
                continue
            promote(d, n, free, item, device, group, group_device, later, n_later, now, n_now)
            if n_now[d] > 0:
                s = free[d]
                r = now[d * n]
            elif n_later[d] > 0:
                s = later[2 * d * n]
                r = int(later[2 * d * n + 1])
            else:
                continue
            if s > soonest or (s == soonest and r > best_rank):
                continue
            f = s + cost[item[r] * columns + column[d]] / divisor[d]
            if s < soonest or r < best_rank or f < done:
                best = d
                soonest = s
                best_rank = r
                done = f
        v = item[best_rank]
        g = group[v]
        if record:
            arrivals(v, 0, k, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
            for d in range(k):
                if allowed[v * stride + d] != 0 and not gone(v, d, device, group, group_device):
                    score[v * k + d] = max(free[d], ready[d])
        device[v] = best
        start[v] = soonest
        finish[v] = done
        free[best] = done
        order[step] = v
        if g >= 0:
            group_device[g] = best
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            missing[w] -= 1
            if missing[w] > 0:
                continue
            arrivals(w, 0, k, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
            for d in range(k):
                if allowed[w * stride + d] == 0 or gone(w, d, device, group, group_device):
                    continue
                if ready[d] <= free[d]:
                    push_key(now, d * n, n_now[d], rank[w])
                    n_now[d] += 1
                else:
                    push_entry(later, d * n, n_later[d], ready[d], float(rank[w]))
                    n_later[d] += 1


@helper
def settle(d, n, everything, marked, item, ready_on, device, group, group_device, later, n_later):
    """Let ops that had to wait on d, all or the marked ones, be looked at again: they count from when inputs could be there."""
    base = d * n
    kept = 0
    for i in range(n_later[d]):
        time = later[2 * (base + i)]
        r = int(later[2 * (base + i) + 1])
        v = item[r]
        if not gone(v, d, device, group, group_device):
            if everything or marked[v] != 0:
                time = ready_on[v * len(n_later) + d]
            push_entry(later, base, kept, time, float(r))
            kept += 1
    n_later[d] = kept


@helper
def mark_readers(
    value, v, d, k, pred_ptr, pred_edge, producer, edge_tensor, succ_ptr, consumer, copy_sent, device, missing, marked,
):  # fmt: skip
    """Mark the other ready ops that read an input of v which d is to get a copy of. Returns whether there are any."""
    found = False
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        u = producer[pred_edge[i]]
        t = edge_tensor[pred_edge[i]]
        if device[u] == d or copy_sent[t * k + d] >= 0.0:
            continue
        for e in range(succ_ptr[u], succ_ptr[u + 1]):
            w = consumer[e]
            if edge_tensor[e] == t and w != v and missing[w] == 0 and device[w] < 0:
                marked[w] = value
                found = True
    return found


@kernel
def earliest_first_within(
    rank, item, pred_ptr, pred_edge, producer, edge_bytes, succ_ptr, consumer, cost, column, divisor, columns, delay, bandwidth,
    allowed, stride, group, send, latency, contention, in_port,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    # workspace
    group_device, ready, free, missing, later, n_later, now, n_now, ready_on, waits, eased, marked, turn, lane, port,
    copy_sent, copy_there, sent, there,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
    # results
    device, start, finish, score, order,
):  # fmt: skip
    """As :func:`earliest_first`, within limits: of memory over time in `model`, and of links where there is contention.

    A pair's place in the heaps is a lower bound of when it can start; the one at the top is looked at exactly, and put back
    if that is later. Bounds of a device are lowered again (:func:`settle`) when room came back there, or a tensor has
    come that others read too. Returns how many ops were placed before nothing fitted any more.
    """
    n = len(device)
    k = len(free)
    record = len(score) == n * k
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
        n_later[d] = 0
        n_now[d] = 0
        eased[d] = 0
        waits[d] = 0
    for i in range(len(port)):
        port[i] = 0.0
    for i in range(len(copy_sent)):
        copy_sent[i] = -1.0
    if model != FREE:
        clear_room(reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, edge_tensor)
    for v in range(n):
        device[v] = -1
        marked[v] = 0
        missing[v] = pred_ptr[v + 1] - pred_ptr[v]
        if missing[v] == 0:
            for d in range(k):
                if allowed[v * stride + d] != 0:
                    ready_on[v * k + d] = 0.0
                    push_key(now, d * n, n_now[d], rank[v])
                    n_now[d] += 1
    for step in range(n):
        best = -1
        soonest = inf
        best_rank = n
        done = inf
        for d in range(k):
            if free[d] > soonest:
                continue
            if eased[d] != 0:
                eased[d] = 0
                if waits[d] != 0:
                    waits[d] = 0
                    settle(d, n, True, marked, item, ready_on, device, group, group_device, later, n_later)
            while True:
                promote(d, n, free, item, device, group, group_device, later, n_later, now, n_now)
                if n_now[d] > 0:
                    s = free[d]
                    r = now[d * n]
                elif n_later[d] > 0:
                    s = later[2 * d * n]
                    r = int(later[2 * d * n + 1])
                else:
                    break
                if s == inf or s > soonest or (s == soonest and r > best_rank):
                    break
                v = item[r]
                length = cost[v * columns + column[d]] / divisor[d]
                exact = max(free[d], inputs_on(
                    v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
                    contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
                ))  # fmt: skip
                if model != FREE:
                    exact = start_with_room(
                        v, d, exact, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
                        model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
                        copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                if exact <= s:
                    f = exact + length
                    if s < soonest or r < best_rank or f < done:
                        best = d
                        soonest = exact
                        best_rank = r
                        done = f
                    break
                if n_now[d] > 0:
                    pop_key(now, d * n, n_now[d])
                    n_now[d] -= 1
                else:
                    pop_entry(later, d * n, n_later[d])
                    n_later[d] -= 1
                push_entry(later, d * n, n_later[d], exact, float(r))
                n_later[d] += 1
                waits[d] = 1
        if best < 0:
            return step
        v = item[best_rank]
        g = group[v]
        if record:
            for d in range(k):
                if allowed[v * stride + d] == 0 or gone(v, d, device, group, group_device):
                    continue
                exact = max(free[d], inputs_on(
                    v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
                    contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
                ))  # fmt: skip
                if model != FREE:
                    length = cost[v * columns + column[d]] / divisor[d]
                    exact = start_with_room(
                        v, d, exact, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
                        model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
                        copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                if exact < inf:
                    score[v * k + d] = exact
        inputs_on(
            v, best, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
            contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
        )  # fmt: skip
        if model != FREE:
            take_room(
                v, best, soonest, done, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
                model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
                copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change, eased,
            )  # fmt: skip
        if contention != 0 and waits[best] != 0 and mark_readers(
            1, v, best, k, pred_ptr, pred_edge, producer, edge_tensor, succ_ptr, consumer, copy_sent, device, missing, marked,
        ):  # fmt: skip
            settle(best, n, False, marked, item, ready_on, device, group, group_device, later, n_later)
            mark_readers(
                0, v, best, k, pred_ptr, pred_edge, producer, edge_tensor, succ_ptr, consumer, copy_sent, device, missing, marked,
            )  # fmt: skip
        take_links(
            v, best, k, pred_ptr, pred_edge, producer, edge_tensor, contention, in_port, port, copy_sent, copy_there, device,
            sent, there,
        )  # fmt: skip
        device[v] = best
        start[v] = soonest
        finish[v] = done
        free[best] = done
        order[step] = v
        if g >= 0:
            group_device[g] = best
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            missing[w] -= 1
            if missing[w] > 0:
                continue
            arrivals(w, 0, k, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
            for d in range(k):
                if allowed[w * stride + d] == 0 or gone(w, d, device, group, group_device):
                    continue
                ready_on[w * k + d] = ready[d]
                if ready[d] <= free[d]:
                    push_key(now, d * n, n_now[d], rank[w])
                    n_now[d] += 1
                else:
                    push_entry(later, d * n, n_later[d], ready[d], float(rank[w]))
                    n_later[d] += 1
    return n
