"""Times and restrictions of a problem, and free memory of devices, looked up in blocks; units are ops or whole groups."""

from __future__ import annotations

from placelab.kernels.jit import helper, inlined


@inlined
def exec_time(v, d, times):
    """Seconds that op (or unit) v takes on device d."""
    return times.cost[v * times.columns + times.column[d]] / times.divisor[d]


@inlined
def may_run(v, d, eligible):
    """Whether op v may run on device d, groups left out."""
    return eligible.allowed[v * eligible.stride + d] != 0


@inlined
def may_go(v, d, home, eligible):
    """Whether op v, whose group is on device `home` (-1: on none yet), may run on device d."""
    return may_run(v, d, eligible) and (home < 0 or home == d)


@inlined
def group_home(v, eligible):
    """Device of v's group; -1 when it is in none, or in one that has no device yet."""
    g = eligible.group[v]
    return eligible.group_device[g] if g >= 0 else -1


@inlined
def fix_group(v, d, eligible):
    """Let v's group, if it has one, be on device d."""
    g = eligible.group[v]
    if g >= 0:
        eligible.group_device[g] = d


@inlined
def clear_groups(eligible):
    """No group has a device."""
    for g in range(len(eligible.group_device)):
        eligible.group_device[g] = -1


@inlined
def clear_devices(eligible, free):
    """Every device is free from 0 on, and no group has one."""
    clear_groups(eligible)
    for d in range(len(free)):
        free[d] = 0.0


@inlined
def fits(unit, device, needs, capacity):
    """Whether `device` may run the unit and has the memory: used + held + max(top, peak) <= limit."""
    if needs.allowed[unit * needs.stride + device] == 0:
        return False
    high = capacity.top[device]
    if needs.peak[unit] > high:
        high = needs.peak[unit]
    return capacity.used[device] + needs.held[unit] + high <= capacity.limit[device]


@inlined
def assign(unit, device, needs, capacity, choices):
    """Place the unit on `device` and take its bytes there."""
    choices.place[unit] = device
    capacity.used[device] += needs.held[unit]
    if needs.peak[unit] > capacity.top[device]:
        capacity.top[device] = needs.peak[unit]


@helper
def first_after(ends, base, count, time):
    """Index of the first of ``ends[base:base + count]``, ascending, that is greater than `time`; `count` when none is."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if ends[base + middle] > time:
            high = middle
        else:
            low = middle + 1
    return low
