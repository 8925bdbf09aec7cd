"""Times and their means, and costs in another unit: numbers from which all else is decided, so that there is one source of them.

Pages that recompute have the same code (``widgets/kernels``). Sums are in the order in which numpy adds, pairwise: what it
decided before stays as it is.
"""

from placelab.kernels.jit import helper, kernel
from placelab.kernels.plan.look_up import exec_time

BLOCK = 128  # numbers that are added in eight running sums


@helper
def block_sum(values, low, n):
    """The sum of up to `BLOCK` numbers from `low` on."""
    if n < 8:
        total = 0.0
        for i in range(low, low + n):
            total += values[i]
        return total
    a = values[low]
    b = values[low + 1]
    c = values[low + 2]
    d = values[low + 3]
    e = values[low + 4]
    f = values[low + 5]
    g = values[low + 6]
    h = values[low + 7]
    rest = low + n - n % 8
    for i in range(low + 8, rest, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(rest, low + n):
        total += values[i]
    return total


@helper
def pairwise_sum(values, low, n, stack):
    """The sum of n numbers from `low` on, as numpy adds: halves, of multiples of eight, down to blocks.

    Workspace: `stack`, float64 (192,): per half on the way down what is left of it, whether its first part is known, and that.
    """
    depth = 0
    at = low
    size = n
    while True:
        while size > BLOCK:
            half = size // 2
            half -= half % 8
            stack[depth] = size - half
            stack[depth + 1] = 0.0
            depth += 3
            size = half
        total = block_sum(values, at, size)
        at += size
        while depth > 0 and stack[depth - 2] != 0.0:
            depth -= 3
            total = stack[depth + 2] + total
        if depth == 0:
            return total
        stack[depth - 2] = 1.0
        stack[depth - 1] = total
        size = int(stack[depth - 3])


@kernel
def sum_of(values, stack):
    """The sum of numbers. O(n)."""
    return pairwise_sum(values, 0, len(values), stack)


@kernel
def row_means(table, columns, stack, mean):
    """The mean of each row of a table, to `mean`. O(entries)."""
    for v in range(len(mean)):
        mean[v] = pairwise_sum(table, v * columns, columns, stack) / columns


@kernel
def mean_times(times, row, stack, mean):
    """Mean over the devices of the time of each op, where all may run everywhere, to `mean`. O(n columns + devices).

    Workspace: `row`, float64 (devices,).
    """
    k = len(times.divisor)
    columns = times.columns
    if columns == 1:
        for d in range(k):
            row[d] = 1.0 / times.divisor[d]
        share = pairwise_sum(row, 0, k, stack) / k
        for v in range(len(mean)):
            mean[v] = times.cost[v] * share
        return
    for c in range(columns):
        row[k + c] = 0.0
    for d in range(k):
        row[k + times.column[d]] += 1.0 / times.divisor[d]
    for v in range(len(mean)):
        for c in range(columns):
            row[c] = times.cost[v * columns + c] * row[k + c]
        mean[v] = pairwise_sum(row, 0, columns, stack) / k


@kernel
def mean_transfer(latency, bandwidth, devices, inverse, stack):
    """Mean latency, and mean time per byte, over ordered pairs of distinct devices. Workspace: `inverse`. O(devices ** 2).

    Of a device to itself the latency is 0 and the bandwidth infinite, which adds 0.
    """
    for i in range(len(bandwidth)):
        inverse[i] = 1.0 / bandwidth[i]
    pairs = max(devices * (devices - 1), 1)
    first = pairwise_sum(latency, 0, len(latency), stack) / pairs
    second = pairwise_sum(inverse, 0, len(inverse), stack) / pairs
    return first, second


@kernel
def total_times(times, own, stack, total):
    """Seconds that each device takes for all ops, to `total`. Workspace: `own`, float64 (n,). O(n devices)."""
    for d in range(len(total)):
        for v in range(len(own)):
            own[v] = times.cost[v * times.columns + times.column[d]]
        total[d] = pairwise_sum(own, 0, len(own), stack) / times.divisor[d]


@kernel
def durations(device, times, duration):
    """Seconds that each op takes on its device, to `duration`. O(n)."""
    for v in range(len(device)):
        duration[v] = exec_time(v, device[v], times)


@kernel
def delays(latency, send, delay):
    """Seconds of the Send on the source and of the latency, by pair of devices, to `delay`; no Send within a device."""
    k = len(send)
    for i in range(k):
        for j in range(k):
            sent = send[i] if i != j else 0.0
            delay[i * k + j] = sent + latency[i * k + j]


@kernel
def speed_ups(speed, column, known, factor):
    """How much faster each device is than the one on which its column of times was measured, to `factor`.

    1 where its speed is not known (NaN), or the device has no column (-1).
    """
    for d in range(len(speed)):
        j = column[d]
        factor[d] = speed[d] / known[j] if j >= 0 and known[j] == known[j] else 1.0


@kernel
def add_by(key, values, total):
    """Add each value to the total that its key names, one after the other. O(values)."""
    for i in range(len(key)):
        total[key[i]] += values[i]
