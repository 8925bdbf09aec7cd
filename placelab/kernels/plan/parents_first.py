"""Ops in a given order, each after its parents, those in a given order, too."""

from placelab.kernels.jit import kernel


@kernel
def parents_first(root, parent, ptr, at, listed, stack, order):
    """List the ops of `root` in turn, before each those of its parents, ``parent[ptr[v]:ptr[v + 1]]``, that are not yet listed.

    Workspace, int32 (n,): `at`, `listed`, `stack`. Result: `order`. O(ops + edges).
    """
    for v in range(len(root)):
        at[v] = ptr[v]
        listed[v] = 0
    count = 0
    for i in range(len(root)):
        if listed[root[i]] != 0:
            continue
        stack[0] = root[i]
        size = 1
        while size > 0:
            v = stack[size - 1]
            while at[v] < ptr[v + 1] and listed[parent[at[v]]] != 0:
                at[v] += 1
            if at[v] < ptr[v + 1]:
                stack[size] = parent[at[v]]
                size += 1
            else:
                size -= 1
                listed[v] = 1
                order[count] = v
                count += 1
