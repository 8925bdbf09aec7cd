"""Has a device room for a unit, an op alone or a whole colocation group? Helpers of every kernel that places units."""

from __future__ import annotations

from placelab.kernels.jit import helper


@helper
def fits(unit, device, stride, allowed, held, peak, limit, used, top):
    """Whether `device` may run the unit and has room for it: used + held + max(top, peak) <= limit."""
    if allowed[unit * stride + device] == 0:
        return False
    high = top[device]
    if peak[unit] > high:
        high = peak[unit]
    return used[device] + held[unit] + high <= limit[device]


@helper
def take(unit, device, held, peak, used, top, place):
    """Place the unit on `device`, whose room it then takes."""
    place[unit] = device
    used[device] += held[unit]
    if peak[unit] > top[device]:
        top[device] = peak[unit]
