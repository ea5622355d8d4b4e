"""Prints what two readings of the clock take, two calls by ctypes that do nothing, a start and
a stop of arm.py and its context manager, in nanoseconds: the best of many short batches.

    calls.py PATH-OF-LIBARMNULL
"""

import ctypes
import sys
import time

import arm

null = ctypes.PyDLL(sys.argv[1])
app = arm.Application("bench")
transaction = app.transaction("python")


def clocks(n):
    clock = time.perf_counter_ns
    for _ in n:
        clock()
        clock()


def calls(n):
    start, stop = null.arm_start, null.arm_stop
    for _ in n:
        start(0, 0, None, 0)
        stop(0, 0, 0, None, 0)


def pairs(n):
    start = transaction.start
    for _ in n:
        start().stop()


def measures(n):
    measure = transaction.measure
    for _ in n:
        with measure():
            pass


def loop(n):
    for _ in n:
        pass


def best(work, times=300, n=1000):
    least = float("inf")
    for _ in range(times):
        begin = time.perf_counter_ns()
        work(range(n))
        least = min(least, (time.perf_counter_ns() - begin) / n)
    return least


if not app.measured:
    sys.exit("not measured: %s" % arm.error)
empty = best(loop)
print(*("%.2f" % (best(work) - empty) for work in (clocks, calls, pairs, measures)))
