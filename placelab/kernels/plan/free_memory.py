"""Free memory of devices for units, which are ops or whole colocation groups: helpers of every kernel that places units."""

from __future__ import annotations

from placelab.kernels.jit import inlined


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
