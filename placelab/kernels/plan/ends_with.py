"""When a device ends that runs independent ops by the arrival of their inputs, as it is and with each other op."""

from placelab.kernels.jit import kernel


@kernel
def ends_with(d, idle, by, arrival, length, device, rest, end, end_with):
    """Write when device d ends into ``end[d]``, and with each op of ``by`` besides into column d of `end_with`, flat.

    It ends at the largest of these sums: an op's arrival plus the times of it and of all behind. Another op adds its
    time to the sums of the ops before it, and has a sum of its own. `arrival`, `length`: of the ops in the order `by`, that of
    their arrival.
    Workspace, float64 (m,): `rest`. O(ops).
    """
    m = len(by)
    k = len(end)
    behind = 0.0  # time of the ops from here on
    latest = 0.0  # sum of these
    for j in range(m):
        i = m - 1 - j
        if device[by[i]] == d:
            behind += length[i]
            latest = max(latest, arrival[i] + behind)
        rest[i] = behind
        end_with[by[i] * k + d] = latest
    before = idle + behind
    for i in range(m):
        if device[by[i]] == d:
            before = max(before, arrival[i] + rest[i])
        alone = max(before, arrival[i] + rest[i]) + length[i]
        end_with[by[i] * k + d] = max(alone, end_with[by[i] * k + d])
    end[d] = before
