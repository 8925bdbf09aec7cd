"""When does everything happen? The event simulator (spec: Mayer §5, Baechi §3.4, Hashemi §1).

An instant is processed in rounds until nothing happens at it any more:

a. all completions due: ops by number, then Sends, then transfers, both by transfer number (producer, destination, tensor);
b. transfers start, where they wait for a channel or for two ports; those of no length complete at once (a again);
c. idle devices, lowest first, each start an executable op.

Sums of times always associate from the left, so that compiled code, plain Python and any other machine agree to the last bit.
"""

from placelab.kernels.codes import CHANNEL, DYNAMIC, EDGES, FREE, PARALLEL, PORTS, PORTS_BY_PRIORITY
from placelab.kernels.heap import pop_event, pop_key, push_event, push_key
from placelab.kernels.jit import helper, kernel
from placelab.kernels.msr import begin_waiting, enter, last_wait, leave, score, waits_longer

PRIORITY, FIFO, MSR, PLANNED, ASK = 0, 1, 2, 3, 4

# A key in a queue: when it came, or how urgent it is, in the upper 32 bits; which one it is in the lower.
LOW = (1 << 32) - 1

# slots of the state that survives a question to a run-time rule
SIZE, INSTANT, TOUCHED, CURSOR, REQUESTS, DONE, CHOICE, RESUME = 0, 1, 2, 3, 4, 5, 6, 7
N_STATE = 8


@helper
def touch(d, touched, flag, n):
    """Put device d (or pair d) on a list of those to look at, once. Returns the list's length."""
    if flag[d] == 0:
        flag[d] = 1
        touched[n] = d
        n += 1
    return n


@helper
def sort_small(values, n):
    """Insertion sort of the first n values."""
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@helper
def by_priority(item, instant, rank, shared, turn, since):
    """The key of an item that is queued now: by class of equal priority, within it first come, then by rank.

    `shared` is the lowest rank of the item's class, -1 where it is alone in it. Such a class owns the numbers from there on, one
    per item; each instant at which one of its items is queued takes the next: ``turn`` (taken last), ``since`` (when). Empty
    where no two priorities are equal: the rank is the key.
    """
    number = rank[item]
    if len(shared) == 0:
        return number
    c = shared[item]
    if c >= 0:
        if since[c] != instant:
            since[c] = instant
            turn[c] += 1
        number = c + turn[c]
    return number << 32 | rank[item]


@helper
def arrive(w, d, missing, rule, instant, rank, shared, turn, since, queue, queue_base, n_queued):
    """One input of op w has arrived on its device d; queue w when it was the last one. Not for MSR."""
    missing[w] -= 1
    if missing[w] == 0 and rule != PLANNED:
        if rule == PRIORITY:
            push_key(queue, queue_base[d], n_queued[d], by_priority(w, instant, rank, shared, turn, since))
        elif rule == FIFO:
            push_key(queue, queue_base[d], n_queued[d], instant << 32 | rank[w])
        else:
            queue[queue_base[d] + n_queued[d]] = w
        n_queued[d] += 1


@helper
def arrive_msr(
    w, d, n_ops, instant, device, source, missing, rank, successor_ptr, successor, successor_inputs, n_producers,
    most_inputs, consumer_ptr, receiver, static, pred_ptr, pred_edge, producer, edge_tensor, edge_transfer, with_sends,
    facts, links, since, queue, queue_base, n_queued,
):  # fmt: skip
    """As :func:`arrive`, and a queued item may now be all that w waits for. `most_inputs`: of w from any one producer."""
    missing[w] -= 1
    if missing[w] == 0:
        begin_waiting(
            w, d, n_ops, instant, device, missing, successor_ptr, successor, successor_inputs, n_producers, consumer_ptr,
            receiver, static, facts, links, since, rank, queue, queue_base, n_queued,
        )  # fmt: skip
    elif missing[w] <= most_inputs[w] and not static:
        last_wait(
            w, n_ops, device, source, missing, pred_ptr, pred_edge, producer, edge_tensor, edge_transfer, with_sends,
            facts, links, since, rank, queue, queue_base, n_queued,
        )  # fmt: skip


@helper
def queue_send(
    x, d, n_ops, instant, rule, rank, shared, turn, since, queue, queue_base, n_queued, send_base, n_sends_queued
):  # fmt: skip
    """The Send of transfer x stands in the queue of its device d; PLANNED and ASK keep Sends in one of their own. Not for MSR."""
    if rule == PRIORITY:
        push_key(queue, queue_base[d], n_queued[d], by_priority(n_ops + x, instant, rank, shared, turn, since))
        n_queued[d] += 1
    elif rule == FIFO:
        push_key(queue, queue_base[d], n_queued[d], instant << 32 | rank[n_ops + x])
        n_queued[d] += 1
    else:
        push_key(queue, send_base[d], n_sends_queued[d], instant << 32 | (n_ops + x))
        n_sends_queued[d] += 1


@helper
def freed_inputs(v, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes, home_uses, copy_uses):
    """Bytes that op v is the last on its device to hold."""
    total = 0.0
    reads = 0
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        e = pred_edge[i]
        reads += 1  # an op that reads a tensor twice has two edges, side by side
        if i + 1 < pred_ptr[v + 1] and edge_tensor[pred_edge[i + 1]] == edge_tensor[e]:
            continue
        x = edge_transfer[e]
        if (copy_uses[x] if x >= 0 else home_uses[edge_tensor[e]]) == reads:
            total += tensor_bytes[edge_tensor[e]]
        reads = 0
    return total


@helper
def release_inputs(v, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes, home_uses, copy_uses):
    """Op v lets go of its inputs. Returns the bytes that frees on its device."""
    total = 0.0
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        e = pred_edge[i]
        x = edge_transfer[e]
        t = edge_tensor[e]
        if x >= 0:
            copy_uses[x] -= 1
            left = copy_uses[x]
        else:
            home_uses[t] -= 1
            left = home_uses[t]
        if left == 0:
            total += tensor_bytes[t]
    return total


@helper
def fits(
    v, d, memory, used, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes,
    home_uses, copy_uses,
):  # fmt: skip
    """Would op v have room on device d if it started now?"""
    if memory == FREE:
        return True
    if memory == DYNAMIC:
        return used[d] + temporary[v] + outputs[v] <= limit[d]
    freed = freed_inputs(v, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes, home_uses, copy_uses)
    return used[d] - freed + outputs[v] <= limit[d]


@kernel
def run_events(
    # problem
    n_ops, n_transfers, n_devices, device, duration, send_duration, latency, bandwidth, tensor_bytes,
    # transfers, from group_transfers
    receiver, local_start, local_end, op_transfer_ptr, consumer_ptr, tensor, destination, source, channel, edge_transfer,
    # rules
    rule, rank, shared, item_of_rank, sequence, sequence_ptr, transfers, duplex, with_sends, transfer_class,
    successor_ptr, successor, successor_inputs, n_producers, most_inputs, producer, static, alpha, beta,
    gamma, delta,
    # memory that ops wait for
    memory, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor, op_tensor_ptr, home_uses, copy_uses, used,
    # workspace
    state, clock, missing, busy, turn, since, facts, links, queue, queue_base, n_queued, send_base, n_sends_queued, set_aside,
    heap, touched, touched_flag, planned_next, port, pair_queue, pair_base, pair_size, pair_busy, pairs, pair_flag, requested,
    # results
    start, finish, send_start, send_finish, transfer_start, transfer_finish,
):  # fmt: skip
    """Run until every op is done, or nothing can happen any more, or a run-time rule must choose.

    Returns the device that must choose (its executable ops are ``queue[queue_base[d]:queue_base[d] + n_queued[d]]``; answer in
    ``state[CHOICE]`` and call again), or -1 at the end; ``state[DONE]`` then counts the finished ops.
    O((ops + edges + transfers) log(ops)); MSR also compares, for each choice, the kinds of executable ops
    that :mod:`placelab.kernels.msr` tells apart.
    """
    size = state[SIZE]
    instant = state[INSTANT]
    n_touched = state[TOUCHED]
    cursor = state[CURSOR]
    requests = state[REQUESTS]
    done = state[DONE]
    now = clock[0]
    n_pairs = 0
    first_transfer = n_ops + n_transfers
    first_begin = first_transfer + n_transfers
    in_port = n_devices if duplex else 0
    ranked = len(transfer_class) > 0
    if state[RESUME] == 0:
        state[RESUME] = 1
        for v in range(n_ops):
            if missing[v] == 0:
                d = device[v]
                missing[v] = 1
                if rule == MSR:
                    arrive_msr(
                        v, d, n_ops, instant, device, source, missing, rank, successor_ptr, successor, successor_inputs,
                        n_producers, most_inputs, consumer_ptr, receiver, static, pred_ptr, pred_edge, producer,
                        edge_tensor, edge_transfer, with_sends, facts, links, since, queue, queue_base, n_queued,
                    )  # fmt: skip
                else:
                    arrive(v, d, missing, rule, instant, rank, shared, turn, since, queue, queue_base, n_queued)
                n_touched = touch(d, touched, touched_flag, n_touched)
        if rule == MSR or rule == ASK:
            sort_small(touched, n_touched)
    while True:
        # ------------------------------------------------ c. idle devices start an op
        while cursor < n_touched:
            d = touched[cursor]
            touched_flag[d] = 0
            chosen = -1
            if busy[d] == 0:
                base = queue_base[d]
                if rule == PRIORITY or rule == FIFO:
                    aside = 0
                    while n_queued[d] > 0:
                        key = queue[base]
                        item = item_of_rank[key & LOW]
                        pop_key(queue, base, n_queued[d])
                        n_queued[d] -= 1
                        if item >= n_ops or fits(
                            item, d, memory, used, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor,
                            edge_transfer, tensor_bytes, home_uses, copy_uses,
                        ):  # fmt: skip
                            chosen = item
                            break
                        set_aside[aside] = key
                        aside += 1
                    for i in range(aside):
                        push_key(queue, base, n_queued[d], set_aside[i])
                        n_queued[d] += 1
                elif rule == MSR:
                    aside = 0
                    while n_queued[d] > 0:
                        best = -1
                        best_score = 0.0
                        for i in range(n_queued[d]):
                            item = queue[base + i]
                            value = score(
                                item, device, missing, busy, successor_ptr, successor, successor_inputs, n_producers, static,
                                alpha, beta, gamma, delta, facts,
                            )  # fmt: skip
                            if (
                                best < 0
                                or value > best_score
                                or (value == best_score and waits_longer(item, best, since, rank))
                            ):
                                best = item
                                best_score = value
                        leave(best, d, facts, links, since, rank, queue, queue_base, n_queued)
                        if best >= n_ops or fits(
                            best, d, memory, used, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor,
                            edge_transfer, tensor_bytes, home_uses, copy_uses,
                        ):  # fmt: skip
                            chosen = best
                            since[best] = -1
                            break
                        set_aside[aside] = best
                        aside += 1
                    for i in range(aside):
                        enter(set_aside[i], d, facts, links, since, rank, queue, queue_base, n_queued)
                elif n_sends_queued[d] > 0:
                    chosen = queue[send_base[d]] & LOW
                    pop_key(queue, send_base[d], n_sends_queued[d])
                    n_sends_queued[d] -= 1
                elif rule == PLANNED:
                    if planned_next[d] < sequence_ptr[d + 1]:
                        v = sequence[planned_next[d]]
                        if missing[v] == 0 and fits(
                            v, d, memory, used, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor,
                            edge_transfer, tensor_bytes, home_uses, copy_uses,
                        ):  # fmt: skip
                            chosen = v
                            planned_next[d] += 1
                elif state[CHOICE] >= 0:
                    chosen = state[CHOICE]
                    state[CHOICE] = -1
                    i = base
                    while queue[i] != chosen:
                        i += 1
                    n_queued[d] -= 1
                    queue[i] = queue[base + n_queued[d]]
                else:
                    possible = False
                    for i in range(n_queued[d]):
                        possible = possible or fits(
                            queue[base + i], d, memory, used, limit, temporary, outputs, pred_ptr, pred_edge, edge_tensor,
                            edge_transfer, tensor_bytes, home_uses, copy_uses,
                        )  # fmt: skip
                    if possible:
                        touched_flag[d] = 1
                        state[SIZE] = size
                        state[INSTANT] = instant
                        state[TOUCHED] = n_touched
                        state[CURSOR] = cursor
                        state[REQUESTS] = requests
                        state[DONE] = done
                        clock[0] = now
                        return d
            if chosen >= n_ops:
                x = chosen - n_ops
                busy[d] = 1
                send_start[x] = now
                send_finish[x] = now + send_duration[d]
                size = push_event(heap, size, send_finish[x], chosen)
            elif chosen >= 0:
                busy[d] = 1
                start[chosen] = now
                finish[chosen] = now + duration[chosen]
                size = push_event(heap, size, finish[chosen], chosen)
                if memory == EDGES:
                    used[d] -= release_inputs(
                        chosen, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes, home_uses, copy_uses
                    )
                    used[d] += outputs[chosen]  # reserved until they appear
                elif memory == DYNAMIC:
                    used[d] += temporary[chosen] + outputs[chosen]
            cursor += 1
        n_touched = 0
        cursor = 0
        if size == 0:
            break
        if heap[0] != now:
            now = heap[0]
            instant += 1
        while size > 0 and heap[0] == now:  # a transfer of no length arrives before devices choose
            # ------------------------------------------------ a. completions
            n_pairs = 0
            while size > 0 and heap[0] == now:
                code = int(heap[1])
                size = pop_event(heap, size)
                first = 0
                last = 0
                if code < n_ops:  # an op
                    d = device[code]
                    busy[d] = 0
                    done += 1
                    n_touched = touch(d, touched, touched_flag, n_touched)
                    for i in range(local_start[code], local_end[code]):
                        if rule == MSR:
                            arrive_msr(
                                receiver[i], d, n_ops, instant, device, source, missing, rank, successor_ptr, successor,
                                successor_inputs, n_producers, most_inputs, consumer_ptr, receiver, static, pred_ptr,
                                pred_edge, producer, edge_tensor, edge_transfer, with_sends, facts, links, since, queue,
                                queue_base, n_queued,
                            )  # fmt: skip
                        else:
                            arrive(
                                receiver[i], d, missing, rule, instant, rank, shared, turn, since, queue, queue_base,
                                n_queued,
                            )  # fmt: skip
                    first = op_transfer_ptr[code]
                    last = op_transfer_ptr[code + 1]
                    if memory == DYNAMIC:
                        used[d] -= temporary[code]
                        used[d] -= release_inputs(
                            code, pred_ptr, pred_edge, edge_tensor, edge_transfer, tensor_bytes, home_uses, copy_uses
                        )
                        for t in range(op_tensor_ptr[code], op_tensor_ptr[code + 1]):
                            if home_uses[t] == 0:
                                used[d] -= tensor_bytes[t]
                    if with_sends:
                        for x in range(first, last):
                            if rule == MSR:
                                begin_waiting(
                                    n_ops + x, d, n_ops, instant, device, missing, successor_ptr, successor,
                                    successor_inputs, n_producers, consumer_ptr, receiver, static, facts, links, since,
                                    rank, queue, queue_base, n_queued,
                                )  # fmt: skip
                            else:
                                queue_send(
                                    x, d, n_ops, instant, rule, rank, shared, turn, since, queue, queue_base, n_queued,
                                    send_base, n_sends_queued,
                                )  # fmt: skip
                        last = first
                elif code < first_transfer:  # a Send
                    first = code - n_ops
                    last = first + 1
                    d = source[first]
                    busy[d] = 0
                    n_touched = touch(d, touched, touched_flag, n_touched)
                elif code >= first_begin:  # a reserved transfer begins and takes its room
                    used[destination[code - first_begin]] += tensor_bytes[tensor[code - first_begin]]
                else:  # a transfer
                    x = code - first_transfer
                    s = source[x]
                    d = destination[x]
                    for i in range(consumer_ptr[2 * x], consumer_ptr[2 * x + 1]):
                        if rule == MSR:
                            arrive_msr(
                                receiver[i], d, n_ops, instant, device, source, missing, rank, successor_ptr, successor,
                                successor_inputs, n_producers, most_inputs, consumer_ptr, receiver, static, pred_ptr,
                                pred_edge, producer, edge_tensor, edge_transfer, with_sends, facts, links, since, queue,
                                queue_base, n_queued,
                            )  # fmt: skip
                        else:
                            arrive(
                                receiver[i], d, missing, rule, instant, rank, shared, turn, since, queue, queue_base,
                                n_queued,
                            )  # fmt: skip
                    n_touched = touch(d, touched, touched_flag, n_touched)
                    if memory != FREE:
                        t = tensor[x]
                        if memory == EDGES:
                            used[d] += tensor_bytes[t]
                        home_uses[t] -= 1
                        if home_uses[t] == 0:
                            used[s] -= tensor_bytes[t]
                        n_touched = touch(s, touched, touched_flag, n_touched)  # there may be room for an op that waits
                    if transfers == CHANNEL:
                        pair_busy[channel[x]] = 0
                        n_pairs = touch(channel[x], pairs, pair_flag, n_pairs)
                    elif transfers == PORTS_BY_PRIORITY:
                        port[s] = 0.0
                        port[in_port + d] = 0.0
                        for q in range(n_devices):
                            n_pairs = touch(s * n_devices + q, pairs, pair_flag, n_pairs)
                            n_pairs = touch(q * n_devices + d, pairs, pair_flag, n_pairs)
                            if not duplex:
                                n_pairs = touch(d * n_devices + q, pairs, pair_flag, n_pairs)
                                n_pairs = touch(q * n_devices + s, pairs, pair_flag, n_pairs)
                for x in range(first, last):  # transfers requested now
                    s = source[x]
                    d = destination[x]
                    pair = s * n_devices + d
                    if transfers == PARALLEL or transfers == PORTS:
                        begin = now
                        if transfers == PORTS:
                            if port[s] > begin:
                                begin = port[s]
                            if port[in_port + d] > begin:
                                begin = port[in_port + d]
                        transfer_start[x] = begin
                        end = begin + latency[pair] + tensor_bytes[tensor[x]] / bandwidth[pair]
                        transfer_finish[x] = end
                        if transfers == PORTS:
                            port[s] = end
                            port[in_port + d] = end
                        size = push_event(heap, size, end, first_transfer + x)
                        if memory == DYNAMIC:
                            if begin > now:
                                size = push_event(heap, size, begin, first_begin + x)
                            else:
                                used[d] += tensor_bytes[tensor[x]]
                    else:
                        pair = channel[x]
                        if ranked:
                            requested[requests] = x
                            push_key(pair_queue, pair_base[pair], pair_size[pair], transfer_class[x] << 32 | requests)
                            requests += 1
                        else:
                            pair_queue[pair_base[pair] + pair_size[pair]] = x
                        pair_size[pair] += 1
                        n_pairs = touch(pair, pairs, pair_flag, n_pairs)
            # ------------------------------------------------ b. waiting transfers start
            while n_pairs > 0:
                best = -1
                best_key = 0
                i = 0
                while i < n_pairs:
                    pair = pairs[i]
                    if transfers == CHANNEL:
                        blocked = pair_busy[pair] != 0
                    else:
                        blocked = port[pair // n_devices] > 0.0 or port[in_port + pair % n_devices] > 0.0
                    if pair_size[pair] == 0 or blocked:  # looked at again when one of these changes
                        pair_flag[pair] = 0
                        n_pairs -= 1
                        pairs[i] = pairs[n_pairs]
                        continue
                    key = pair_queue[pair_base[pair]]
                    if best < 0 or key < best_key:
                        best = pair
                        best_key = key
                    if transfers == CHANNEL:  # channels do not compete
                        break
                    i += 1
                if best < 0:
                    break
                if ranked:
                    x = requested[best_key & LOW]
                    pop_key(pair_queue, pair_base[best], pair_size[best])
                else:  # first come, first served: what has gone is behind the base
                    x = best_key
                    pair_base[best] += 1
                pair_size[best] -= 1
                if transfers == CHANNEL:
                    pair_busy[best] = 1
                else:
                    port[source[x]] = 1.0
                    port[in_port + destination[x]] = 1.0
                transfer_start[x] = now
                pair = source[x] * n_devices + destination[x]
                transfer_finish[x] = now + latency[pair] + tensor_bytes[tensor[x]] / bandwidth[pair]
                size = push_event(heap, size, transfer_finish[x], first_transfer + x)
                if memory == DYNAMIC:
                    used[destination[x]] += tensor_bytes[tensor[x]]
        if rule == MSR or rule == ASK:
            sort_small(touched, n_touched)
    state[DONE] = done
    state[SIZE] = size
    clock[0] = now
    return -1
