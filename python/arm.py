"""Measures the response time of a program's transactions.

This is the Application Response Measurement API 2.0 in Python's terms. It needs libarm and
no compiler. The agent rtarm exports what is measured as PCP metrics, rtime.arm.*.

    app = arm.Application("Checking Account Query")
    query = app.transaction("Last Check Query")

    running = query.start()
    try:
        ask()
    except Exception as error:
        running.stop(arm.status_of(error))
        raise
    running.stop(arm.GOOD)

The same is shorter with a context manager or a decorator. What starts within is then a
child, in coroutines, too:

    with query.measure():
        ask()

    @query.measured
    def ask():
        ...

The module is a guest in the program: it never waits, prints or fails. Where there is no
libarm it does nothing, and `error` says why; where nothing is measured, Application.measured
is false. With INVOKE_ARM=false in the environment nothing is measured. Names have up to 127
bytes in UTF-8; blanks are removed and 31 bytes are kept. Programs of one user, in whatever
language, that give the same names count in the same application and transaction. Any thread
may call everything.
"""

import contextvars
import ctypes
import errno
import functools
import inspect
import struct

__version__ = "0.1.0"

GOOD = 0  # as expected
ABORTED = 1  # the system failed it, or who asked has given it up
FAILED = 2  # an error in the transaction itself

error = None  # why there is no libarm, or None


def _nothing(*_):
    return 0


def _text(s):
    """A text for libarm, which is none if it has a zero."""
    return None if "\0" in s else s.encode(errors="replace")


def _load(name="libarm.so.2"):
    """Returns libarm's functions, or such as do nothing."""
    global error
    names = ("arm_init", "arm_getid", "arm_start", "arm_update", "arm_stop", "arm_end",
             "arm_correlator_from_traceparent", "arm_correlator_to_traceparent")
    try:
        # The calls do not wait, so they keep the interpreter's lock, which is quicker. The
        # first three may make and open files.
        slow, quick = ctypes.CDLL(name), ctypes.PyDLL(name)
        return [getattr(slow if i < 2 else quick, n) for i, n in enumerate(names)]
    except (OSError, AttributeError) as e:
        error = e
        return [_nothing] * 6 + [lambda *_: -1] * 2


(_init, _getid, _start, _update, _stop, _end, _from_traceparent, _to_traceparent) = _load()

# Buffers, as arm.h has them: format 1 of data, 256 bytes, and format 101 of what describes
# metrics, 344 bytes.
_DATA, _META = 256, 344
_METRIC, _STRING, _CORRELATOR, _CORRELATOR_MAX = 8, 56, 88, 168
_PARENT_GIVEN, _CORRELATOR_WANTED, _CORRELATOR_GIVEN, _TRACE_WANTED = 0x80, 0x40, 0x20, 0x10
_STRING_GIVEN, _METRICS = 0x02, 6
_Buffer = ctypes.c_char * _DATA
_head = struct.Struct("=i2B2x").pack_into
_flags = struct.Struct("=4x2B").unpack_from

# The correlator that starts in this context have as their parent, and whether they are traced.
_current = contextvars.ContextVar("arm", default=None)


class Correlator:
    """Names an execution to those that it causes, in other processes and on other hosts."""

    __slots__ = ("_bytes",)

    def __init__(self, data):
        """Takes the bytes of a correlator of whatever agent; ValueError if they are none."""
        data = bytes(data)
        length = int.from_bytes(data[:2], "big")
        if not 4 <= length <= min(len(data), _CORRELATOR_MAX):
            raise ValueError("not a correlator")
        self._bytes = data[:length]

    @classmethod
    def from_traceparent(cls, header):
        """Makes one of the value of a header traceparent (W3C Trace Context, level 1)."""
        space = ctypes.create_string_buffer(_CORRELATOR_MAX)
        if _from_traceparent(_text(str(header)), space) < 0:
            raise ValueError("not a traceparent")
        return cls(space.raw)

    def traceparent(self):
        """Returns the value of a header traceparent, or None if no trace context is in it."""
        text = ctypes.create_string_buffer(56)
        if _to_traceparent(self._bytes.ljust(_CORRELATOR_MAX, b"\0"), text) < 0:
            return None
        return text.value.decode()

    def __bytes__(self):
        return self._bytes

    def __eq__(self, other):
        return isinstance(other, Correlator) and self._bytes == other._bytes

    def __hash__(self):
        return hash(self._bytes)

    def __repr__(self):
        return "Correlator(%s)" % self._bytes.hex()


def current():
    """Returns the correlator of the execution that this context is part of, or None."""
    now = _current.get()
    return now[0] and Correlator(now[0]) if now else None


class _Within:
    """Has what is started within be of a parent, or traced, or both."""

    def __init__(self, parent=None, trace=False):
        self._parent, self._trace = parent and bytes(parent), trace

    def __enter__(self):
        parent, trace = _current.get() or (None, False)
        self._token = _current.set((self._parent or parent, self._trace or trace))

    def __exit__(self, *_):
        _current.reset(self._token)


def parent(correlator):
    """A context manager: what is started within is a child of the execution of a correlator."""
    return _Within(parent=correlator)


def traced():
    """A context manager: what is started within is traced one by one, with what it causes."""
    return _Within(trace=True)


class Metric:
    """What a program measures besides time. The name has up to 43 bytes in UTF-8."""

    _type = 0
    _pack = struct.Struct("=Q")
    _bits = 64

    def __init__(self, name):
        self.name = name

    def value(self, number):
        """A value, to be given to start, update and stop."""
        return self, self._pack.pack(number & (1 << self._bits) - 1)


class _Small(Metric):
    _pack, _bits = struct.Struct("=Ixxxx"), 32


class _Ratio(Metric):
    _pack = struct.Struct("=II")

    def value(self, number, divisor):
        """A value: number divided by divisor, which is not 0. Both have 32 bits."""
        return self, self._pack.pack(number & 0xffffffff, divisor & 0xffffffff)


class Counter32(_Small):
    """Like Counter, of 32 bits."""

    _type = 1


class Counter(Metric):
    """Only goes up while a transaction runs: what counts is by how much, from start on."""

    _type = 2


class CounterRatio(_Ratio):
    """A counter whose value is a fraction."""

    _type = 3


class Gauge32(_Small):
    """Like Gauge, of 32 bits."""

    _type = 4


class Gauge(Metric):
    """Goes up and down, such as the length of a queue: it has a mean and no sum."""

    _type = 5


class GaugeRatio(_Ratio):
    """A gauge whose value is a fraction."""

    _type = 6


class NumericID32(_Small):
    """Like NumericID, of 32 bits."""

    _type = 7


class NumericID(Metric):
    """A number that is a name, such as an error's: its latest value is kept."""

    _type = 8


class String8(Metric):
    """A text of up to 8 bytes: its latest value is kept. What is too long is cut."""

    _type, _room = 9, 8

    def value(self, text):
        """A value, in UTF-8, without blanks at its end."""
        return self, text.encode()[:self._room].ljust(self._room)


class String(String8):
    """A text of up to 32 bytes, of which a transaction has one at most."""

    _type, _room = 10, 32


class Application:
    """A program, or a part of one, whose transactions are measured.

    user says who uses it; "*" is the login name.
    """

    def __init__(self, name, user="*"):
        self.name = name
        self._transactions = {}
        self._id = _init(_text(name), _text(user), 0, None, 0)

    @property
    def measured(self):
        """Whether executions are measured."""
        return self._id > 0

    def transaction(self, name, metrics=(), detail=""):
        """Returns the transaction of this name, the same one for the same name.

        metrics are six at most, and one String. detail says more about the transaction, in
        up to 127 bytes.
        """
        t = self._transactions.get(name)
        if t is None:
            t = self._transactions.setdefault(name, Transaction(self, name, metrics, detail))
        return t

    def close(self):
        """Says that this program is through with the application."""
        if self._id > 0:
            _end(self._id, 0, None, 0)
            self._id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Transaction:
    """A kind of work whose executions are measured; see Application.transaction."""

    __slots__ = ("name", "_id", "_places")

    def __init__(self, app, name, metrics, detail):
        self.name = name
        self._places, meta = _describe(metrics)
        self._id = _getid(app._id, _text(name), _text(detail), 0, meta, _META if meta else 0)

    def start(self, *values):
        """Begins an execution: a child of the one that this context is part of, if any."""
        now = _current.get()
        if now is None and not values:
            return Running(_start(self._id, 0, None, 0), self)
        return self._begin(values, now, 0)[0]

    def _begin(self, values, now, wanted):
        """Begins an execution; returns it and its own correlator, if that is wanted."""
        data = _Buffer()
        inner, trace = now or (None, False)
        if inner:
            wanted |= _PARENT_GIVEN
            data[_CORRELATOR:_CORRELATOR + len(inner)] = inner
        if trace:
            wanted |= _TRACE_WANTED
        _head(data, 0, 1, wanted, _fill(data, self._places, values))
        handle = _start(self._id, 0, data, _DATA)
        own = None
        if wanted & _CORRELATOR_WANTED and _flags(data)[0] & _CORRELATOR_GIVEN:
            length = int.from_bytes(data[_CORRELATOR:_CORRELATOR + 2], "big")
            own = data[_CORRELATOR:_CORRELATOR + length]
        return Running(handle, self), own

    def measure(self, *values):
        """A context manager that begins an execution and ends it: good, or as status_of says.

        What is started within is a child. It gives the Running, whose stop within decides.
        """
        return _Measure(self, values)

    def measured(self, function):
        """A decorator: each call of a function, or of a coroutine's, is an execution."""
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def call(*args, **kwargs):
                with _Measure(self, ()):
                    return await function(*args, **kwargs)
        else:
            @functools.wraps(function)
            def call(*args, **kwargs):
                with _Measure(self, ()):
                    return function(*args, **kwargs)
        return call


class Running:
    """An execution of a transaction, from start to stop. Any thread may stop it."""

    __slots__ = ("_handle", "_transaction")

    def __init__(self, handle, transaction):
        self._handle, self._transaction = handle, transaction

    def stop(self, status=GOOD, *values):
        """Ends the execution and counts it. Whether it did: not if it had ended before."""
        if values:
            data = self._data(values)
            return self._handle > 0 and _stop(self._handle, status, 0, data, _CORRELATOR) == 0
        return _stop(self._handle, status, 0, None, 0) == 0 and self._handle > 0

    def update(self, *values):
        """Says that the execution is getting on. Whether it is measured and running."""
        return self._handle > 0 and _update(self._handle, 0, self._data(values), _CORRELATOR) == 0

    def update_text(self, text):
        """Is update with a text for people, up to 1,020 bytes, kept if the execution is traced."""
        text = text.encode()[:1020]
        return self._handle > 0 and _update(self._handle, 0, struct.pack("=i", 2) + text, 4 + len(text)) == 0

    def _data(self, values):
        data = _Buffer()
        _head(data, 0, 1, 0, _fill(data, self._transaction._places, values))
        return data


class _Measure:
    __slots__ = ("_transaction", "_values", "_running", "_token")

    def __init__(self, transaction, values):
        self._transaction, self._values = transaction, values

    def __enter__(self):
        now = _current.get()
        self._running, own = self._transaction._begin(self._values, now, _CORRELATOR_WANTED)
        self._token = _current.set((own, now[1] if now else False)) if own else None
        return self._running

    def __exit__(self, kind, raised, trace):
        if self._token:
            _current.reset(self._token)
        self._running.stop(status_of(raised))


def _describe(metrics):
    """Returns where each metric lies in a buffer of data, and the buffer that describes them.

    None are described if they do not fit together, as six numbers and one String do.
    """
    places, parts, flags = {}, [bytes(48)] * (_METRICS + 1), 0
    for m in metrics:
        name = _text(m.name) or b" " * 44
        place = _METRICS if isinstance(m, String) else len(places) - (_METRICS in places.values())
        part = struct.pack("=i44s", m._type, name)
        if part in parts or len(name) > 43 or place in places.values() or place == _METRICS and m._type != String._type:
            return {}, None
        places[m] = place
        parts[place] = part
        flags |= 0x80 >> place
    if not places:
        return places, None
    return places, struct.pack("=iBB2x", 101, 0, flags) + b"".join(parts)


def _fill(data, places, values):
    """Puts values of metrics into a buffer, and returns its flags.

    The value of another metric goes where none was described, so that libarm counts it as
    bad data.
    """
    flags = 0
    for metric, value in values:
        place = places.get(metric)
        if place is None:
            free = [i for i in range(_METRICS + 1) if i not in places.values()]
            flags |= 0x80 >> free[0] if free else 0
            continue
        flags |= 0x80 >> place
        at = _STRING if place == _METRICS else _METRIC + 8 * place
        data[at:at + len(value)] = value
    return flags


_system_errors = frozenset(getattr(errno, n) for n in (
    "ETIMEDOUT ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ENETDOWN ENETUNREACH ENETRESET EHOSTDOWN "
    "EHOSTUNREACH EMFILE ENFILE ENOMEM ENOSPC EDQUOT EIO").split())


def status_of(raised):
    """Says how an execution ended that raised an exception, or None.

    None is GOOD. ABORTED is what the system failed: a time-out, what was cancelled, a
    connection that was refused, broke or found no way, a full disk, no more memory or files.
    All else is the program's: FAILED. What an exception was raised from counts, too.
    """
    if raised is None:
        return GOOD
    seen = set()
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        # TimeoutError and CancelledError have several homes, according to Python's version.
        if isinstance(raised, (ConnectionError, MemoryError, KeyboardInterrupt, GeneratorExit)) or \
                isinstance(raised, OSError) and raised.errno in _system_errors or \
                any(c.__name__ in ("TimeoutError", "CancelledError") for c in type(raised).__mro__):
            return ABORTED
        raised = raised.__cause__
    return FAILED
