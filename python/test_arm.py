"""Tests of arm.py, which python_test.go runs with a libarm of its own."""

import asyncio
import concurrent.futures
import errno
import os
import socket
import subprocess
import sys
import textwrap
import unittest

import arm

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Status(unittest.TestCase):
    def test_rule(self):
        chained = ValueError()
        chained.__cause__ = ConnectionResetError()
        circle = ValueError()
        circle.__cause__ = circle
        for raised, want in [
            (None, arm.GOOD), (ValueError(), arm.FAILED), (KeyError("x"), arm.FAILED),
            (TimeoutError(), arm.ABORTED), (socket.timeout(), arm.ABORTED), (asyncio.TimeoutError(), arm.ABORTED),
            (asyncio.CancelledError(), arm.ABORTED), (concurrent.futures.TimeoutError(), arm.ABORTED),
            (concurrent.futures.CancelledError(), arm.ABORTED), (subprocess.TimeoutExpired("x", 1), arm.FAILED),
            (ConnectionRefusedError(), arm.ABORTED), (BrokenPipeError(), arm.ABORTED), (MemoryError(), arm.ABORTED),
            (OSError(errno.EHOSTUNREACH, "x"), arm.ABORTED), (OSError(errno.ENOSPC, "x"), arm.ABORTED),
            (FileNotFoundError(errno.ENOENT, "x"), arm.FAILED), (PermissionError(errno.EACCES, "x"), arm.FAILED),
            (KeyboardInterrupt(), arm.ABORTED), (SystemExit(1), arm.FAILED), (chained, arm.ABORTED), (circle, arm.FAILED),
        ]:
            self.assertEqual(arm.status_of(raised), want, repr(raised))

    def test_refused(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = s.getsockname()
        with self.assertRaises(OSError) as refused:
            socket.create_connection(address)
        self.assertEqual(arm.status_of(refused.exception), arm.ABORTED)


class Correlators(unittest.TestCase):
    def test_traceparent(self):
        c = arm.Correlator.from_traceparent(TRACEPARENT)
        self.assertEqual(c.traceparent(), TRACEPARENT)
        self.assertEqual(arm.Correlator(bytes(c) + b"more"), c)
        self.assertEqual(len({c, arm.Correlator(bytes(c))}), 1)
        for bad in ("", "garbage", TRACEPARENT[:-1], TRACEPARENT + "\0"):
            with self.assertRaises(ValueError):
                arm.Correlator.from_traceparent(bad)
        for bad in (b"", b"\0\3x", b"\1\0" + bytes(300), b"\0\x20abc"):
            with self.assertRaises(ValueError):
                arm.Correlator(bad)
        self.assertIsNone(arm.Correlator(b"\0\4ab").traceparent())

    def test_current(self):
        self.assertIsNone(arm.current())
        t = arm.Application("correlators").transaction("t")
        sender = arm.Correlator.from_traceparent(TRACEPARENT)
        with arm.parent(sender):
            self.assertEqual(arm.current(), sender)
            with t.measure():
                own = arm.current()
                self.assertEqual(own.traceparent()[:36], TRACEPARENT[:36])
                self.assertNotEqual(own, sender)
                with arm.traced(), t.measure():
                    self.assertNotEqual(arm.current(), own)
                self.assertEqual(arm.current(), own)
            self.assertEqual(arm.current(), sender)
        self.assertIsNone(arm.current())


class Measuring(unittest.TestCase):
    def setUp(self):
        self.app = arm.Application("measuring")
        self.addCleanup(self.app.close)
        self.assertTrue(self.app.measured, arm.error)

    def test_once(self):
        running = self.app.transaction("once").start()
        self.assertTrue(running.update())
        self.assertTrue(running.update_text("x" * 2000))
        self.assertTrue(running.stop())
        self.assertFalse(running.stop())
        self.assertFalse(running.update())
        self.assertFalse(running.update_text("late"))
        self.assertFalse(self.app.transaction("once").start().stop(3))

    def test_same(self):
        self.assertIs(self.app.transaction("a"), self.app.transaction("a"))
        self.assertIsNot(self.app.transaction("a"), self.app.transaction("b"))

    def test_closed(self):
        with arm.Application("closed") as app:
            t = app.transaction("t")
            running = t.start()
        self.assertFalse(app.measured)
        self.assertTrue(running.stop())
        app.close()

    def test_names(self):
        for name in ("", " ", "x" * 128, "zero\0within"):
            app = arm.Application(name)
            self.assertFalse(app.measured, name)
            self.assertFalse(app.transaction("t").start().stop())
            self.assertFalse(self.app.transaction(name).start().stop(), name)
        for name in ("\udc80", "\u00e4" * 63):
            self.assertTrue(self.app.transaction(name).start().stop(), name)

    def test_metrics_that_do_not_fit(self):
        seven = [arm.Gauge("g%d" % i) for i in range(7)]
        twice = arm.Counter("c")
        for i, metrics in enumerate([seven, [arm.String("a"), arm.String("b")], [twice, twice], [arm.Counter("c"), twice],
                                     [arm.Gauge("x" * 44)], [arm.Gauge("zero\0")]]):
            t = self.app.transaction("wrong%d" % i, metrics=metrics)
            self.assertEqual(t._places, {})
            self.assertTrue(t.start(metrics[0].value("x" if isinstance(metrics[0], arm.String) else 1)).stop())

    def test_exceptions_and_results_go_through(self):
        t = self.app.transaction("through")

        @t.measured
        def double(n):
            """Doubles."""
            if n < 0:
                raise ValueError(n)
            return 2 * n

        self.assertEqual((double(3), double.__name__, double.__doc__), (6, "double", "Doubles."))
        with self.assertRaises(ValueError):
            double(-1)

    def test_stopped_within(self):
        with self.app.transaction("within").measure() as running:
            self.assertTrue(running.stop(arm.FAILED))

    def test_coroutines(self):
        t = self.app.transaction("coroutine")
        seen = {}

        @t.measured
        async def work(n):
            mine = arm.current()
            await asyncio.sleep(0)
            seen[n] = (mine, arm.current())
            return n

        async def both():
            return await asyncio.gather(work(1), work(2))

        self.assertEqual(asyncio.run(both()), [1, 2])
        self.assertEqual(seen[1][0], seen[1][1])
        self.assertEqual(seen[2][0], seen[2][1])
        self.assertNotEqual(seen[1][0], seen[2][0])
        self.assertIsNone(arm.current())


class Shown(unittest.TestCase):
    """The code that the module's text and the page on transactions show."""

    def run_pieces(self, pieces, want):
        self.assertEqual(len(pieces), want)
        names = {"arm": arm, "ask": lambda: None}
        for piece in pieces:
            exec(compile(piece, piece, "exec"), names)
        self.assertTrue(names["app"].measured)

    def test_text(self):
        self.run_pieces([textwrap.dedent("\n".join(
            line for line in arm.__doc__.split("\n") if line.startswith("    ") or not line))], 1)

    def test_page(self):
        with open("../docs/measuring-transactions.md") as page:
            self.run_pieces([p.split("```")[0] for p in page.read().split("```python\n")[1:]], 3)


class Guest(unittest.TestCase):
    """What the module does where nothing can be measured, in processes of their own."""

    def run_with(self, **environment):
        code = """if True:
            import arm
            app = arm.Application("a")
            t = app.transaction("t", metrics=[arm.Gauge("g")])
            with t.measure() as running, arm.traced():
                inner = t.start().stop()
            try:
                arm.Correlator.from_traceparent("%s")
                known = True
            except ValueError:
                known = False
            app.close()
            print(arm.error is None, app.measured, running.stop(), inner, arm.current(), known)""" % TRACEPARENT
        env = {k: v for k, v in dict(os.environ, **environment).items() if v is not None}
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)

    def test_disabled(self):
        ran = self.run_with(INVOKE_ARM="false")
        self.assertEqual((ran.stdout, ran.stderr), ("True False False False None True\n", ""))

    def test_null(self):
        ran = self.run_with(LD_LIBRARY_PATH=os.path.join(os.environ["LD_LIBRARY_PATH"], "null"))
        self.assertEqual((ran.stdout.split()[:2], ran.stderr), (["True", "False"], ""))

    def test_no_library(self):
        code = """if True:
            import ctypes
            def missing(name): raise OSError("no " + name)
            ctypes.CDLL = missing
            import arm
            t = arm.Application("a").transaction("t")
            with t.measure(arm.Gauge("g").value(1)) as running:
                pass
            print(arm.error, t.start().stop(), running.update(), arm.Correlator(b"\\0\\4ab").traceparent())"""
        ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual((ran.stdout, ran.stderr), ("no libarm.so.2 False False None\n", ""))


if __name__ == "__main__":
    unittest.main()
