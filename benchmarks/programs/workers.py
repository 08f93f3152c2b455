"""Compiles and checks programs in several processes at once, then times them in one process after another.

First calls take seconds a program, and a machine with a GPU is dear: 15 processes on 16 cores took five minutes for 283
programs. Nothing is timed before the last process is ready, and only one process calls anything then.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch


class Task(NamedTuple):
    """What the processes do; functions of modules, since each process imports them anew."""

    cases_of: Callable  # (options) → what is to be measured
    name_of: Callable  # (case) → its name
    prepared: Callable  # (case, options) → what is compiled and checked
    timed: Callable  # (what was prepared, options) → the result
    failed: Callable  # (reason) → the result of a case that has none


def measure_by_workers(task, options, count, ready_within):
    """Yields (case, result) for each of the task's cases.

    A process that crashes, or is not ready within `ready_within` seconds, yields its cases without times and says so.
    """
    context = multiprocessing.get_context("spawn")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    cases = task.cases_of(options)
    names = [task.name_of(case) for case in cases]
    workers = [_start(context, task, list(range(first, len(cases), count)), options) for first in range(count)]
    end = time.monotonic() + ready_within
    for worker in workers:
        _await_ready(worker, names, end)
    for process, connection, numbers, lost in workers:
        if not lost:
            connection.send("time")
        for number in numbers:
            try:
                found = task.failed(lost[0]) if lost else connection.recv()
            except EOFError:
                lost.append(f"process ended with {process.exitcode}")
                found = task.failed(lost[0])
            yield cases[number], found
        process.kill()
        process.join()


def _start(context, task, numbers, options):
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, task, numbers, options), daemon=True)
    process.start()
    theirs.close()
    return process, ours, numbers, []


def _await_ready(worker, names, end):
    """Reads what the process begins with until it is ready; where it never is, the worker has the reason."""
    process, connection, _, lost = worker
    began = None
    while True:
        try:
            if not connection.poll(max(0, end - time.monotonic())):
                lost.append(f"not ready in time, at {'its start' if began is None else names[began]}")
                process.kill()
                return
            said = connection.recv()
        except EOFError:
            lost.append(f"process ended at {'its start' if began is None else names[began]}")
            return
        if said == "ready":
            return
        began = said


def _work(connection, task, numbers, options):
    import nvfuser.dynamo  # noqa: F401

    torch._dynamo.config.cache_size_limit = 64
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    cases = task.cases_of(options)
    prepared = []
    for number in numbers:
        connection.send(number)
        begin = time.monotonic()
        prepared.append(task.prepared(cases[number], options))
        torch.cuda.empty_cache()  # the other processes want some, too
        if time.monotonic() - begin > 30:
            taken = time.monotonic() - begin
            print(f"{task.name_of(cases[number])}: {taken:.0f} s to compile", file=sys.stderr, flush=True)
    connection.send("ready")
    connection.recv()
    for each in prepared:
        connection.send(task.timed(each, options))
