"""Keep a list of devices, or of pairs of devices, to look at."""

from placelab.kernels.jit import helper


@helper
def add_to(work, number):
    """Put a number on the list, once."""
    if work.flag[number] == 0:
        work.flag[number] = 1
        work.number[work.size[0]] = number
        work.size[0] += 1


@helper
def sort_numbers(work):
    """Sort the numbers on the list, by insertion."""
    values = work.number
    for i in range(1, work.size[0]):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
