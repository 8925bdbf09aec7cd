"""SCT on finitely many devices: free devices take what can start first, awake ones urgent ops or the favourite child.

Heaps, ranks and bounds are those of :mod:`placelab.kernels.etf`; ``child[v]`` is v's favourite child, -1 for none; ``turns`` are
the devices in the order in which they are asked. The clock never goes back: a device that is idle at t is free from t on.
"""

from math import inf

from placelab.kernels.codes import FREE, PARALLEL
from placelab.kernels.etf import gone, mark_readers, promote, settle
from placelab.kernels.heap import pop_entry, pop_key, push_entry, push_key
from placelab.kernels.jit import helper, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.planned_transfers import inputs_on, take_links
from placelab.kernels.room_over_time import clear_room, start_with_room, take_room

SOONEST, URGENT, CHILD, WAITED = 0, 1, 2, 3  # which rule placed an op
SHY = 1 - 2**-50  # a transfer that queues adds its times up in another order, and must not come out below its bound


@helper
def earliest(
    v, d, free, cost, column, divisor, columns, pred_ptr, pred_edge, producer, edge_bytes, group, group_device, send, delay,
    bandwidth, latency, contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
    copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
):  # fmt: skip
    """When v could start on d: once d is free, the inputs are there and there is room to the end; infinite without room."""
    s = max(free[d], inputs_on(
        v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
        contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
    ))  # fmt: skip
    if model == FREE:
        return s
    return start_with_room(
        v, d, s, cost[v * columns + column[d]] / divisor[d], pred_ptr, pred_edge, producer, group, group_device, device, sent,
        there, model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
        copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
    )  # fmt: skip


@kernel
def small_communication_times(
    rank, item, child, turns, pred_ptr, pred_edge, producer, edge_bytes, succ_ptr, consumer, cost, column, divisor, columns,
    delay, bandwidth, allowed, stride, group, send, latency, contention, in_port,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    # workspace
    group_device, ready, free, missing, later, n_later, now, n_now, ready_on, waits, eased, marked, soonest, ran, starts,
    turn, lane, port, copy_sent, copy_there, sent, there,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
    # results
    device, start, finish, score, order, rule,
):  # fmt: skip
    """The whole plan, within the limits of memory in `model`, and of links where there is contention.

    At the clock t, the earliest start of any ready op, idle devices are asked in turn. The last op i of a device d may have
    a favourite child f that is ready and could start nowhere sooner than on d: then d is awake, and takes, of the ops that
    could start by t on every idle device that may run them and has room, the one of least rank, or, when there is none, f,
    whenever it can start. Otherwise d is free: it takes the op of least rank that could start on it at t, if any.

    Results as :func:`placelab.kernels.etf.earliest_first`, and ``rule[v]``. Returns how many ops were placed before nothing
    fitted any more. O(n k log n + edges k + n k²) where memory and links are no limit and urgent ops come to the top.
    """
    n = len(device)
    k = len(free)
    record = len(score) == n * k
    simple = model == FREE and contention == PARALLEL
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
        n_later[d] = 0
        n_now[d] = 0
        eased[d] = 0
        waits[d] = 0
        ran[d] = -1
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
        clock = inf
        for d in range(k):  # the earliest start on each device
            soonest[d] = inf
            if free[d] > clock:
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
                if s == inf or s > clock:
                    break
                exact = s
                if not simple:
                    exact = earliest(
                        item[r], d, free, cost, column, divisor, columns, pred_ptr, pred_edge, producer, edge_bytes, group,
                        group_device, send, delay, bandwidth, latency, contention, in_port, port, copy_sent, copy_there,
                        turn, lane, device, finish, sent, there, model, limit, for_ever, temporary, op_tensor_ptr,
                        tensor_bytes, edge_tensor, reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level,
                        block, begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                if exact <= s:
                    soonest[d] = s
                    clock = s
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
        if clock == inf:
            return step
        best = -1
        chosen = -1
        begin = clock
        why = SOONEST
        for d in range(k):
            if free[d] < clock:
                free[d] = clock
        for j in range(k):
            d = turns[j]
            if free[d] > clock:
                continue
            f = child[ran[d]] if ran[d] >= 0 else -1
            awake = False
            here = inf
            if f >= 0 and missing[f] == 0 and allowed[f * stride + d] != 0:
                awake = not gone(f, d, device, group, group_device)
            if awake:
                for e in range(k):
                    starts[e] = inf
                    if allowed[f * stride + e] == 0 or gone(f, e, device, group, group_device):
                        continue
                    if simple:
                        starts[e] = max(free[e], ready_on[f * k + e])
                    else:
                        starts[e] = earliest(
                            f, e, free, cost, column, divisor, columns, pred_ptr, pred_edge, producer, edge_bytes, group,
                            group_device, send, delay, bandwidth, latency, contention, in_port, port, copy_sent, copy_there,
                            turn, lane, device, finish, sent, there, model, limit, for_ever, temporary, op_tensor_ptr,
                            tensor_bytes, edge_tensor, reserved, waiting, kept, copy_kept, last, chain, top, highest, at,
                            level, block, begins, ends, sizes, cuts, change,
                        )  # fmt: skip
                here = starts[d]
                for e in range(k):
                    if starts[e] < here:
                        awake = False
                if here == inf:
                    awake = False
            promote(d, n, free, item, device, group, group_device, later, n_later, now, n_now)
            if not awake:
                if soonest[d] > clock:
                    continue
                chosen = item[now[d * n]]
                best = d
                break
            urgent = n
            i = 0
            while i < n_now[d]:  # in no order; the least rank first, which mostly is it
                r = now[d * n + i]
                i += 1
                v = item[r]
                if r >= urgent or gone(v, d, device, group, group_device):
                    continue
                everywhere = True
                for e in range(k):
                    if free[e] > clock or allowed[v * stride + e] == 0 or gone(v, e, device, group, group_device):
                        continue
                    if ready_on[v * k + e] > clock and (simple or e == d):
                        everywhere = False
                        break
                    if simple:
                        continue
                    exact = earliest(
                        v, e, free, cost, column, divisor, columns, pred_ptr, pred_edge, producer, edge_bytes, group,
                        group_device, send, delay, bandwidth, latency, contention, in_port, port, copy_sent, copy_there,
                        turn, lane, device, finish, sent, there, model, limit, for_ever, temporary, op_tensor_ptr,
                        tensor_bytes, edge_tensor, reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level,
                        block, begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                    if exact > clock and (exact < inf or e == d):
                        everywhere = False
                        break
                if everywhere:
                    urgent = r
                    if i == 1:
                        break
            best = d
            if urgent < n:
                chosen = item[urgent]
                why = URGENT
            else:
                chosen = f
                begin = here
                why = WAITED if here > clock else CHILD
            break
        v = chosen
        d = best
        g = group[v]
        done = begin + cost[v * columns + column[d]] / divisor[d]
        if record:
            for e in range(k):
                if allowed[v * stride + e] == 0 or gone(v, e, device, group, group_device):
                    continue
                exact = max(free[e], ready_on[v * k + e])
                if not simple:
                    exact = earliest(
                        v, e, free, cost, column, divisor, columns, pred_ptr, pred_edge, producer, edge_bytes, group,
                        group_device, send, delay, bandwidth, latency, contention, in_port, port, copy_sent, copy_there,
                        turn, lane, device, finish, sent, there, model, limit, for_ever, temporary, op_tensor_ptr,
                        tensor_bytes, edge_tensor, reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level,
                        block, begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                if exact < inf:
                    score[v * k + e] = exact
        if not simple:
            inputs_on(
                v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
                contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
            )  # fmt: skip
            if model != FREE:
                take_room(
                    v, d, begin, done, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
                    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept,
                    copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change, eased,
                )  # fmt: skip
            if contention != PARALLEL and waits[d] != 0 and mark_readers(
                1, v, d, k, pred_ptr, pred_edge, producer, edge_tensor, succ_ptr, consumer, copy_sent, device, missing, marked,
            ):  # fmt: skip
                settle(d, n, False, marked, item, ready_on, device, group, group_device, later, n_later)
                mark_readers(
                    0, v, d, k, pred_ptr, pred_edge, producer, edge_tensor, succ_ptr, consumer, copy_sent, device, missing,
                    marked,
                )  # fmt: skip
            take_links(
                v, d, k, pred_ptr, pred_edge, producer, edge_tensor, contention, in_port, port, copy_sent, copy_there,
                device, sent, there,
            )  # fmt: skip
        device[v] = d
        start[v] = begin
        finish[v] = done
        free[d] = done
        ran[d] = v
        order[step] = v
        rule[v] = why
        if g >= 0:
            group_device[g] = d
        for i in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[i]
            missing[w] -= 1
            if missing[w] > 0:
                continue
            arrivals(w, 0, k, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
            for e in range(k):
                if allowed[w * stride + e] == 0 or gone(w, e, device, group, group_device):
                    continue
                there_at_best = ready[e] if contention == PARALLEL else ready[e] * SHY
                ready_on[w * k + e] = there_at_best
                if there_at_best <= free[e]:
                    push_key(now, e * n, n_now[e], rank[w])
                    n_now[e] += 1
                else:
                    push_entry(later, e * n, n_later[e], there_at_best, float(rank[w]))
                    n_later[e] += 1
    return n
