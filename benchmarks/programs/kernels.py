"""Which kernels a call runs on a GPU, and what each takes: why a program loses, one line a kernel."""

import collections

import torch

CALLS = 4
LONGEST = 12  # kernels of a call that are listed by name; the others are one line


def kernels_of(call, flush):
    """[(kernel's name, launches a call, microseconds a call)], the longest first; `flush` runs before each call."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    names = collections.defaultdict(lambda: [0, 0.0])
    with torch.profiler.profile(activities=activities) as profile:
        flush()
        torch.cuda.synchronize()
    of_flush = {event.name for event in profile.events()}
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(CALLS):
            flush()
            call()
        torch.cuda.synchronize()
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and event.name not in of_flush:
            names[event.name][0] += 1
            names[event.name][1] += event.device_time_total
    found = [(name, count / CALLS, taken / CALLS) for name, (count, taken) in names.items()]
    return sorted(found, key=lambda each: -each[2])


def lines_of(kernels):
    """What is printed of `kernels_of`'s list."""
    found = [f"{taken:10.1f} us x{count:<5g} {name[:110]}" for name, count, taken in kernels[:LONGEST]]
    if kernels[LONGEST:]:
        taken = sum(each[2] for each in kernels[LONGEST:])
        found.append(f"{taken:10.1f} us        {len(kernels) - LONGEST} others")
    return found
