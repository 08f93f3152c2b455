"""Compiles and checks programs in several processes at once, then times them in one process after another.

First calls take seconds a program, and a machine with a GPU is dear: 15 processes on 16 cores took five minutes for 283
programs. Nothing is timed before the last process is ready, and only one process calls anything then.
"""

import multiprocessing
import os
import sys
import time

import torch

from .measure import BACKENDS, Measured, checked, measured


def measure_by_workers(cases, options, count, ready_within):
    """Yields (case, Measured) for each of `cases`, pairs of program and size.

    A process that crashes, or is not ready within `ready_within` seconds, yields its cases without times and says so.
    """
    context = multiprocessing.get_context("spawn")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    workers = [_start(context, list(range(first, len(cases), count)), options) for first in range(count)]
    end = time.monotonic() + ready_within
    for worker in workers:
        _await_ready(worker, cases, end)
    for process, connection, numbers, lost in workers:
        if not lost:
            connection.send("time")
        for number in numbers:
            try:
                found = Measured.failed(lost[0]) if lost else connection.recv()
            except EOFError:
                lost.append(f"process ended with {process.exitcode}")
                found = Measured.failed(lost[0])
            yield cases[number], found
        process.kill()
        process.join()


def _start(context, numbers, options):
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, numbers, options), daemon=True)
    process.start()
    theirs.close()
    return process, ours, numbers, []


def _await_ready(worker, cases, end):
    """Reads what the process begins with until it is ready; where it never is, the worker has the reason."""
    process, connection, _, lost = worker
    began = None
    while True:
        try:
            if not connection.poll(max(0, end - time.monotonic())):
                lost.append(f"not ready in time, at {_name(cases, began)}")
                process.kill()
                return
            said = connection.recv()
        except EOFError:
            lost.append(f"process ended at {_name(cases, began)}")
            return
        if said == "ready":
            return
        began = said


def _name(cases, number):
    return "its start" if number is None else f"{cases[number][0].name}, {cases[number][1]}"


def _work(connection, numbers, options):
    import nvfuser.dynamo  # noqa: F401

    from .tables import cases_of

    torch._dynamo.config.cache_size_limit = 64
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    cases = cases_of(options)
    prepared = []
    for number in numbers:
        connection.send(number)
        begin = time.monotonic()
        try:
            prepared.append(checked(*cases[number], options["device"], BACKENDS))
        except torch.OutOfMemoryError as error:
            prepared.append(({}, {"all": str(error)}))
        torch.cuda.empty_cache()  # the other processes want some, too
        if time.monotonic() - begin > 30:
            print(f"{_name(cases, number)}: {time.monotonic() - begin:.0f} s to compile", file=sys.stderr, flush=True)
    connection.send("ready")
    connection.recv()
    for calls, wrong in prepared:
        connection.send(measured(calls, wrong, options))
