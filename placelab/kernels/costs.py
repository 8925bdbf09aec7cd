"""Times and their means, costs in another unit, the unit in which they are whole: numbers from which all else is decided.

Pages that recompute have the same code (``widgets/kernels``). Sums are in the order in which numpy adds, pairwise: what it
decided before stays as it is.
"""

from math import inf

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


# -------------------------------------------------------------------- the decimal unit in which numbers are whole

# `powers` are those of ten from ten to -`LOW` on, as they are read: computed, ten to the 23rd is not the nearest number.

LOW = 323
WIDEST = 290  # decimal places


@helper
def ten_to(power, powers):
    """Ten to a whole power of at least 0; of what is beyond numbers the greatest."""
    i = LOW + power
    return powers[i] if i < len(powers) else powers[len(powers) - 1]


@helper
def shifted(x, power, down):
    """A number times a power of ten, or divided by it: no power of a tenth is a float."""
    return x / power if down else x * power


@helper
def decade(x, near, powers):
    """The power of ten at or below x, above it by rounding (`near`, relative) at most."""
    low = 0
    high = len(powers) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if powers[middle] <= x * (1.0 + near):
            low = middle
        else:
            high = middle - 1
    return low - LOW


@helper
def common_divisor(values, parts, power, down, rounding):
    """The greatest whole number that divides all values times `parts`, shifted; -1 where not all of them are whole.

    Infinite and unknown values are left out; `rounding` is relative. O(n).
    """
    common = 0
    for i in range(len(values)):
        if not (-inf < values[i] < inf):
            continue
        x = shifted(values[i] * parts, power, down)
        whole = float(round(x))
        if abs(x - whole) > rounding * x:
            return -1
        other = int(whole)
        while common != 0:
            rest = other % common
            other = common
            common = rest
        common = other
    return common


@kernel
def decimal_places(values, parts, digits, rounding, near, powers):
    """The least decimal places with which all values times q are whole, and the least q up to `parts` for which there are some.

    Of zeros minus infinity, and 1. Where `digits` of the largest value do not do for any q, the places of its first digit, and 0.
    Infinite and unknown values are left out. O(parts n).
    """
    largest = 0.0
    for i in range(len(values)):
        if largest < values[i] < inf:
            largest = values[i]
    if largest == 0.0:
        return -inf, 1
    leading = 0 - decade(largest, near, powers)  # not -0, which JavaScript has
    if abs(leading) < WIDEST:
        finest = leading + digits
        for q in range(1, parts + 1):
            common = common_divisor(values, q, ten_to(abs(finest), powers), finest < 0, rounding)
            if common >= 0:
                zeros = 0
                while common > 0 and common % 10 == 0:
                    common = common // 10
                    zeros += 1
                return float(finest - zeros), q
    return float(leading), 0


@kernel
def longest_time(compute, sends, tensor_bytes, latency, time, speed, bandwidth, shared):
    """An upper bound on each op's, Send op's and transfer's time and each latency; 1 where all are 0 or unknown. O(n)."""
    slowest = inf
    for d in range(len(speed)):
        slowest = min(slowest, speed[d])
    narrowest = inf
    for i in range(len(bandwidth)):
        narrowest = min(narrowest, bandwidth[i])
    for i in range(len(shared)):
        narrowest = min(narrowest, shared[i])
    longest = sends / slowest
    for v in range(len(compute)):
        took = compute[v] / slowest
        if longest < took < inf:
            longest = took
    for t in range(len(tensor_bytes)):
        took = tensor_bytes[t] / narrowest
        if longest < took < inf:
            longest = took
    for i in range(len(latency)):
        if longest < latency[i] < inf:
            longest = latency[i]
    for i in range(len(time)):
        if longest < time[i] < inf:
            longest = time[i]
    return longest if longest > 0.0 else 1.0


@kernel
def decimal_unit(work, sent, seconds, speed, rate, sized, longest, digits, near, powers):
    """The places of the unit of time in which costs are whole, of operations, and of bytes, if those change (`sized`).

    From the places of operations, bytes, seconds, speeds and bandwidths, minus infinity of zeros. NaN where there is no such
    unit, it is the second itself, or the longest time would have more than `digits` there.
    """
    nan = inf - inf
    carried = sent - rate if rate > -inf else -inf
    unit = max(work - speed, carried, seconds)
    ops = max(work, unit + speed)
    sizes = max(sent, unit + rate) if sized and carried > -inf else 0.0
    if (unit == 0.0 and ops == 0.0 and sizes == 0.0) or abs(unit) > WIDEST:
        return nan, nan, nan
    in_unit = shifted(longest, ten_to(int(abs(unit)), powers), unit < 0.0)
    if in_unit > ten_to(digits, powers) * (1.0 + near):
        return nan, nan, nan
    return unit, ops, sizes


@kernel
def whole_again(values, parts, power, down, second, up, result):
    """Values that are whole times `parts`, shifted: the nearest whole numbers, shifted again, over `parts`. O(n).

    Infinite and unknown values stay.
    """
    for i in range(len(values)):
        x = values[i]
        if -inf < x < inf:
            x = shifted(float(round(shifted(x * parts, power, down))), second, not up) / parts
        result[i] = x
