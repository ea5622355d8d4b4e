"""Does what python_test.go counts, with all of the module."""

import asyncio
import os
import sys
import threading

import arm

app = arm.Application("Web Shop")
order, stock, thread = app.transaction("Order"), app.transaction("Stock", detail="of goods"), app.transaction("Thread")

# What ends in each way, by hand, within and decorated.
order.start().stop()
order.start().stop(arm.ABORTED)
order.start().stop(arm.FAILED)
for raised in (None, TimeoutError, ValueError):
    try:
        with order.measure():
            stock.start().stop()
            with stock.measure():
                pass
            if raised:
                raise raised
    except (TimeoutError, ValueError):
        pass


@stock.measured
def look():
    pass


@stock.measured
async def look_later():
    await asyncio.sleep(0)
    look()


asyncio.run(look_later())


def work():
    for _ in range(1000):
        thread.start().stop()


threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()

# Another thread stops, a child that was forked counts for itself.
running = thread.start()
threading.Thread(target=running.stop).start()
if os.fork() == 0:
    thread.start().stop()
    os._exit(0)
os.wait()

# Values of all kinds.
metrics = {
    "c32": arm.Counter32("c32"), "c64": arm.Counter("c64"), "cr": arm.CounterRatio("cr"),
    "g32": arm.Gauge32("g32"), "g64": arm.Gauge("g64"), "gr": arm.GaugeRatio("gr"), "text": arm.String("text"),
}
numbers = app.transaction("Numbers", metrics=metrics.values())
r = numbers.start(metrics["c32"].value(2**32 - 1), metrics["c64"].value(10), metrics["cr"].value(10, 2), metrics["text"].value("begun"))
r.update(metrics["g32"].value(-7), metrics["g64"].value(-70), metrics["gr"].value(7, 2))
r.stop(arm.GOOD, metrics["c32"].value(4), metrics["c64"].value(1710), metrics["cr"].value(30, 2), metrics["text"].value("\u00e4" * 20))
ids = app.transaction("Identifiers", metrics=[arm.NumericID32("n32"), arm.NumericID("n64"), arm.String8("s8")])
n32, n64, s8 = ids._places
ids.start(n32.value(32), n64.value(2**63), s8.value("part 4711")).stop()
ids.start(arm.Gauge("another's").value(1)).stop()
sys.exit(0 if app.measured else "not measured: %s" % arm.error)
