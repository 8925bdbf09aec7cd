"""The decimal unit in which numbers are whole, and the numbers in it: what planners compare is decided here, in one source.

Pages that recompute have the same code (``widgets/kernels``). `powers` are those of ten from ten to -`LOW` on, as they are read:
computed, ten to the 23rd is not the nearest number.
"""

from math import inf

from placelab.kernels.jit import helper, kernel

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
