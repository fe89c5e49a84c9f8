"""Snippets for the rewriter: each defines `main()`, whose result must not depend on rewriting."""

# ruff: noqa: E501

from __future__ import annotations

SNIPPETS: dict[str, str] = {}


def snippet(name: str, source: str) -> None:
    """Enter a snippet."""
    assert name not in SNIPPETS
    SNIPPETS[name] = source


snippet(
    "attributes",
    """
class O: pass
def main():
    o = O(); o.x = 1; o.x += 2; y = o.x; del o.x
    return y, hasattr(o, "x")
""",
)
snippet(
    "items",
    """
def main():
    l = [1, 2, 3]; l[0] += 5; del l[1]; l[-1] = 9
    d = {"a": 1}; d["b"] = d["a"] + 1; del d["a"]
    return l, d
""",
)
snippet(
    "slices",
    """
def main():
    l = list(range(9)); l[2:4] = [7]; x = l[1:5]; del l[::2]; l[1:] = l[:1]
    return l, x, l[::-1]
""",
)
snippet(
    "closures",
    """
def main():
    n = 0; fs = []
    def inc(k):
        nonlocal n
        n += k
        return n
    for i in range(3):
        def f(): return i
        fs.append(f)
    inc(2); inc(3)
    return n, [f() for f in fs]
""",
)
snippet(
    "deleted cell",
    """
def main():
    x = 1
    def f():
        return x
    a = f(); del x
    try: f()
    except NameError as e: return a, type(e).__name__
""",
)
snippet(
    "globals",
    """
n = 0; cache = {}
def inc():
    global n
    n += 1
def forget():
    global n
    del n
def main():
    inc(); inc(); cache["k"] = n; forget()
    return cache, "n" in globals()
""",
)
snippet(
    "comprehensions",
    """
def main():
    xs = [3, 1, 2]; k = 10
    return ([x + k for x in xs if x > 1], {x: x * k for x in xs}, {x % 2 for x in xs},
            sum(x for x in xs), [[y for y in range(x)] for x in xs])
""",
)
snippet(
    "class comprehension",
    """
class A:
    xs = [1, 2]
    ys = [x * 2 for x in xs]
    def f(self): return [self.xs[i] + y for i, y in enumerate(self.ys)]
def main(): return A().f(), A.ys
""",
)
snippet(
    "lambda and defaults",
    """
def f(a, b=[], *c, d={}, **e):
    b.append(a); d[a] = c
    return list(b), dict(d), e
def main():
    g = lambda x, y=2: x + y
    return f(1), f(2, [5], 6, 7, d={}, z=1), g(1), (lambda *a, **k: (a, k))(1, 2, q=3)
""",
)
snippet(
    "f-strings",
    """
class O:
    x = 3.14159
    def __repr__(self): return "<O>"
def main():
    o = O(); w = 8
    return f"{o!r} {o.x:{w}.2f} {[1, 2]} {o.x=:.1f} {'a' if o else 'b'}", "%s %d" % (o, 3)
""",
)
snippet(
    "walrus",
    """
def main():
    out = []
    it = iter([1, 2, 3, 0])
    while (x := next(it)): out.append(x)
    return out, [y := 5, y ** 2], [z for v in [1, 2] if (z := v * 2) > 2]
""",
)
snippet(
    "evaluation order",
    """
log = []
def t(x): log.append(x); return x
class D(dict): pass
def main():
    log.clear()
    d = D()
    def o(): log.append("obj"); return d
    o()[t("i")] = t("v")
    o()[t("j")], x = t(1), t(2)
    d[t("i")] += t("w")
    return log, d
""",
)
snippet(
    "unpacking",
    """
def main():
    a, (b, *c), d = 1, [2, 3, 4], "x"
    *p, q = {1: 2, 3: 4}
    l = [*p, *range(3), q]; s = {*l, 9}; m = {**{"a": 1}, "b": 2}
    def f(*a, **k): return a, k
    for i, (j, k) in [(1, (2, 3))]: pass
    return a, b, c, d, p, q, l, sorted(s), m, f(*l, 7, **m), (i, j, k)
""",
)
snippet(
    "attribute targets",
    """
class O: pass
def main():
    o = O(); o.l = [0, 0]
    for o.x in range(3): o.l[o.x % 2] = o.x
    o.a, o.l[0] = 7, 8
    with open(__file__ if "__file__" in globals() else "/dev/null") as o.f: pass
    return o.x, o.a, o.l, o.f.closed
""",
)
snippet(
    "with",
    """
class CM:
    def __init__(self, log): self.log = log
    def __enter__(self): self.log.append("in"); return self
    def __exit__(self, *e): self.log.append(e[0] and e[0].__name__); return e[0] is KeyError
def main():
    log = []
    with CM(log) as c, CM(log): c.log.append("body")
    with CM(log): raise KeyError
    try:
        with CM(log): raise ValueError
    except ValueError: log.append("caught")
    def f():
        with CM(log): return 5
    return log, f()
""",
)
snippet(
    "contextlib",
    """
import contextlib
@contextlib.contextmanager
def cm(log):
    log.append(1)
    try: yield log
    finally: log.append(2)
def main():
    log = []
    with cm(log) as l: l.append("x")
    with contextlib.suppress(ZeroDivisionError): 1 / 0
    return log
""",
)
snippet(
    "match",
    """
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def what(v):
    match v:
        case {"a": 1, **rest}: return "map", rest
        case {"b": [x, *y]}: return x, y
        case P(0, y=z): return "p0", z
        case P(x, y) if x == y: return "pxx", x
        case [1, 2] | (3, 4): return "seq"
        case [a, *b]: return a, b
        case str() as s: return s
        case None | True: return "const"
        case _: return "other"
def main():
    return [what(v) for v in ({"a": 1, "c": 2}, {"b": [1, 2, 3]}, P(0, 5), P(4, 4), P(1, 2), [1, 2],
            (3, 4), [9, 8], "s", None, 4.5)]
""",
)
snippet(
    "generators",
    """
def g(n):
    x = 0
    while x < n:
        y = yield x
        x += y or 1
    return "done"
def h():
    r = yield from g(3)
    yield r
def main():
    it = g(10); out = [next(it), it.send(3), it.send(None)]
    it.close()
    e = (a * b for a in [1, 2] for b in [3, 4])
    return out, list(h()), list(e)
""",
)
snippet(
    "x += yield",
    """
class O: x = 0
def g(o):
    o.x += yield 1
    o.x += yield 2
def main():
    o = O(); it = g(o); next(it); it.send(10)
    try: it.send(5)
    except StopIteration: pass
    return o.x
""",
)
snippet(
    "generator throw",
    """
def g(log):
    try: yield 1
    except ValueError as e: log.append(str(e)); yield 2
    finally: log.append("end")
def main():
    log = []; it = g(log); next(it); x = it.throw(ValueError("v")); it.close()
    return log, x
""",
)
snippet(
    "async",
    """
import asyncio
class A:
    def __init__(self): self.n = 0
    def __aiter__(self): return self
    async def __anext__(self):
        self.n += 1
        if self.n > 3: raise StopAsyncIteration
        await asyncio.sleep(0)
        return self.n
    async def __aenter__(self): return self
    async def __aexit__(self, *e): self.n = -1
async def agen():
    for i in range(3): yield i
async def work():
    a = A(); out = [x async for x in A()]
    async with a as b: out.append(b is a)
    async for y in agen(): out.append(y)
    return out, a.n
def main():
    return asyncio.run(work())
""",
)
snippet(
    "decorators",
    """
import functools
def deco(f):
    @functools.wraps(f)
    def inner(*a, **k): return ["d", *f(*a, **k)]
    return inner
def with_args(n):
    return lambda f: (lambda *a: f(*a) * n)
@deco
def f(*a): return list(a)
@with_args(2)
@deco
def g(x): return [x]
class C:
    @staticmethod
    def s(x): return x
    @classmethod
    def c(cls, x): return cls.__name__, x
    @property
    def p(self): return self._p
    @p.setter
    def p(self, v): self._p = v + 1
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def main():
    c = C(); c.p = 4
    return f(1, 2), g(3), C.s(1), c.c(2), c.p, f.__name__, fib(20)
""",
)
snippet(
    "super",
    """
class A:
    x = 1
    def f(self, a): return ("A", a)
    @classmethod
    def k(cls): return cls.__name__
    @property
    def p(self): return 5
class B(A):
    def f(self, a): return ("B", super().f(a), super(B, self).f(a), super().x)
    @classmethod
    def k(cls): return "B" + super().k()
    @property
    def p(self): return super().p + 1
    def __init__(self): super().__init__(); self.g = [super(B, self).f(i) for i in range(2)]
def main(): return B().f(1), B.k(), B().p, B().g
""",
)
snippet(
    "name mangling",
    """
class A:
    __c = 1
    def __init__(self): self.__x = 2; self.__class__.__c += 1
    def __m(self): return self.__x
    def get(self): return self.__m(), self.__c
def main():
    A._A__c = 1
    a = A(); return a.get(), a._A__x
""",
)
snippet(
    "slots",
    """
class S:
    __slots__ = ("a", "__b")
    def __init__(self): self.a = 1; self.__b = 2
    def f(self): self.a += self.__b; del self.__b; return self.a, hasattr(self, "_S__b")
def main(): return S().f()
""",
)
snippet(
    "dataclass",
    """
from dataclasses import dataclass, field, replace
@dataclass(order=True)
class P:
    x: int
    y: list = field(default_factory=list)
@dataclass(frozen=True, slots=True)
class Q:
    a: int = 1
def main():
    p, q = P(1, [2]), P(1, [3])
    try: Q().a = 2
    except AttributeError as e: err = type(e).__name__
    @dataclass
    class L:
        z: int = 4
    return p == q, p < q, repr(p), replace(p, x=5), err, L(), hash(Q(3)) == hash(Q(3))
""",
)
snippet(
    "exec",
    """
def main():
    ns = {}
    exec("class T:\\n    v = 1\\ndef f(o):\\n    o.v += 1\\n    return o.v", ns)
    a = 5
    c = compile("a + b", "<c>", "eval")
    def inner(): return eval("1 + x", {"x": 2}), eval("  3 ")
    exec("made = [i for i in range(3)]", globals())
    return ns["f"](ns["T"]), eval("a * 2"), eval(c, {"a": 1, "b": 2}), inner(), made
""",
)
snippet(
    "exceptions",
    """
class E(Exception):
    def __init__(self, n): super().__init__(n); self.n = n
def f(n):
    try:
        if n: raise E(n)
        return "ok"
    except E as e: return e.n, e.args
    else: return "else"
    finally: f.last = n
def main():
    out = [f(0), f(3), f.last]
    try:
        try: {}["x"]
        except KeyError as e: raise ValueError("v") from e
    except ValueError as e: out.append((str(e), repr(e.__cause__)))
    try: raise ExceptionGroup("g", [E(1), TypeError("t")])
    except* TypeError as g: out.append(len(g.exceptions))
    except* E as g: out.append(g.exceptions[0].n)
    try: assert out == [], f"msg {len(out)}"
    except AssertionError as e: out.append(str(e))
    return out
""",
)
snippet(
    "loops",
    """
def main():
    out = []
    for i in range(10):
        if i % 2: continue
        if i > 6: break
        out.append(i)
    else: out.append("else")
    n = 5
    while n:
        n -= 1
        if n == 3: continue
        out.append(n)
        while True:
            if out: break
    else: out.append("done")
    while True:
        out.append("once"); break
    return out
""",
)
snippet(
    "conditions",
    """
def main():
    a, b, e = [1], {}, ""
    return (a or b, b or a, a and b, not a, not b, 1 if a else 2, [x for x in (a, b, e) if x],
            a == [1] and not e, (a and b) or e, 1 < 2 < 3, None is not a, 0 or None)
""",
)
snippet(
    "list methods",
    """
def main():
    l = [3, 1, 2]
    l.append(4); l.extend([5, 6]); l.insert(0, 9); p = l.pop(), l.pop(0); l.remove(1); l.sort()
    l.reverse(); i = l.index(3), l.count(3); c = l.copy(); l += (7,); l *= 2
    m = c + [1]; c.clear()
    return l, p, i, c, m, list.append(c, 5), c, len(l), max(l), sorted(l, key=lambda x: -x)
""",
)
snippet(
    "dict methods",
    """
def main():
    d = {"a": 1}
    x = d.setdefault("b", []), d.get("z"), d.get("z", 5), d.pop("a"), d.pop("q", None)
    d.update({"c": 3}, e=4); d |= {"f": 6}; k = list(d), list(d.items()), "c" in d
    y = d.popitem(); n = dict.fromkeys([1, 2], 0); v = sorted(map(str, d.values()))
    for key in d: pass
    z = [(a, b) for a, b in d.items()]
    return x, k, y, n, v, z, d | {1: 2}, d == dict(d), len(d.keys()), "b" in d.keys()
""",
)
snippet(
    "set methods",
    """
def main():
    s = {1, 2}; s.add(3); s.discard(9); s.remove(1); s.update([5], (6,)); s |= {7}; s -= {2}
    t = s & {3, 5}, s | {1}, s ^ {3}, s.isdisjoint({4}), s >= {3}, frozenset(s)
    return sorted(s), [sorted(x) if not isinstance(x, bool) else x for x in t], 3 in s, len(s)
""",
)
snippet(
    "collections",
    """
from collections import deque, defaultdict, Counter, OrderedDict, ChainMap, namedtuple
def main():
    q = deque([1, 2], maxlen=3); q.append(3); q.appendleft(0); q.rotate(1); x = q.pop(), q.popleft()
    d = defaultdict(list); d["a"].append(1); d["a"] += [2]
    c = Counter("abca"); c["z"] += 1; c.update("zz"); del c["b"]
    o = OrderedDict(a=1, b=2); o.move_to_end("a"); o["c"] = 3
    N = namedtuple("N", "x y"); n = N(1, 2)
    return list(q), x, dict(d), c.most_common(1), list(o), o.popitem(last=False), n.x, n._replace(y=5), ChainMap({}, {1: 2})[1]
""",
)
snippet(
    "container subclasses",
    """
class L(list):
    def append(self, x): super().append(x * 2)
    def __getitem__(self, i): return "item", super().__getitem__(i)
class D(dict):
    def __missing__(self, k): self[k] = k * 2; return self[k]
    def __contains__(self, k): return k == 5 or super().__contains__(k)
class S(set):
    def __init__(self, *a): super().__init__(*a); self.extra = 1
def main():
    l = L([1]); l.append(2); d = D(a=1); s = S([1]); s.add(2); s.extra += 1
    return l[1], list(l), d["q"], dict(d), 5 in d, 6 in d, sorted(s), s.extra, l == [1, 4], len(l)
""",
)
snippet(
    "operators",
    """
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    def __iadd__(self, o): self.x += o.x; return self
    def __eq__(self, o): return self.x == o.x
    def __lt__(self, o): return self.x < o.x
    def __bool__(self): return self.x > 0
    def __len__(self): return self.x
    def __contains__(self, y): return y == self.x
    def __call__(self, *a): return a, self.x
    def __iter__(self): return iter(range(self.x))
    def __getitem__(self, i): return i * self.x
    def __matmul__(self, o): return "mat"
def main():
    a, b = V(1), V(2); c = a + b; a += b
    return c.x, a == c, a < b, bool(V(0)), len(b), 2 in b, b(1, 2), list(c), c[1:2] if 0 else c[3], a @ b, -5 // 2, 2 ** 8, ~3
""",
)
snippet(
    "builtins on containers",
    """
def main():
    l = [3, 1, 2]
    return (list(enumerate(l)), list(zip(l, "abc")), list(map(str, l)), list(filter(None, [0, 1])),
            list(reversed(l)), sum(l), min(l), max(l), any(l), all(l), tuple(l), set(l) == {1, 2, 3},
            "-".join(map(str, l)), next(iter(l)), isinstance(l, list), repr(l), str(l), dict(zip("ab", l)),
            sorted(l), abs(-1), divmod(7, 2), list(range(3)), callable(len), bytes([1]), bytearray(b"x"))
""",
)
snippet(
    "getattr and friends",
    """
class O: pass
def main():
    o = O(); setattr(o, "x", 1); a = getattr(o, "x"), getattr(o, "y", 2), hasattr(o, "z")
    o.__dict__["q"] = 3; b = o.q, vars(o) == {"x": 1, "q": 3}; delattr(o, "x")
    object.__setattr__(o, "w", 4); c = object.__getattribute__(o, "w")
    o.__dict__.update(m=5); del o.__dict__["w"]
    return a, b, sorted(vars(o)), c
""",
)
snippet(
    "attribute hooks",
    """
class O:
    def __getattr__(self, n): return n.upper()
    def __setattr__(self, n, v): super().__setattr__("_" + n, v)
class Desc:
    def __get__(self, o, k): return 7
    def __set__(self, o, v): o.__dict__["seen"] = v
class P: d = Desc()
def main():
    o = O(); o.x = 1; p = P(); p.d = 4
    return o.x, o._x, o.y, p.d, p.seen
""",
)
snippet(
    "operator and heapq",
    """
import operator, heapq, bisect, copy, json, itertools, functools
def main():
    l = []; heapq.heappush(l, 3); heapq.heappush(l, 1); x = heapq.heappop(l); bisect.insort(l, 2)
    d = {}; operator.setitem(d, "a", [1]); e = copy.deepcopy(d); d["a"].append(2)
    g = operator.itemgetter("a")(d), operator.attrgetter("real")(5), operator.iadd([1], [2])
    return (l, x, d, e, g, json.dumps(d), list(itertools.chain(l, [9])), functools.reduce(operator.add, [1, 2, 3]),
            list(itertools.islice(itertools.count(), 3)), functools.partial(sorted, reverse=True)([1, 2]))
""",
)
snippet(
    "class bodies",
    """
x = "g"
def main():
    x = "local"
    class A:
        y = x
        x = "class"
        def f(self): return x, self.x
        class B:
            z = [1]; z.append(2)
            if z: w = len(z)
    class M(type):
        def __new__(m, n, b, d, **k): return super().__new__(m, n, b, {**d, "k": k})
    class C(A, metaclass=M, opt=1): pass
    return A.y, A().f(), A.B.z, A.B.w, C.k, type(C).__name__
""",
)
snippet(
    "class attributes",
    """
class C:
    n = 0
    log = []
    def inc(self): self.n += 1; C.n += 10; type(self).log.append(self.n); return self.n
def main():
    C.n = 0; C.log = []
    c = C(); return c.inc(), c.inc(), C.n, C.log, C().n
""",
)
snippet(
    "keyword calls",
    """
def f(a, /, b, *, c=1, **k): return a, b, c, k
class O:
    def m(self, a, b=2): return a, b
def main():
    o = O(); m = o.m; k = {"c": 4, "z": 5}
    return (f(1, 2), f(1, b=2, c=3), f(*[1], **{"b": 2}), f(1, 2, **k), o.m(1, b=3), m(b=1, a=2), O.m(o, 4),
            o.m(*(1,), **{"b": 9}), sorted([2, 1], key=lambda x: x, reverse=True), dict(a=1, **{"b": 2}), max(1, 2, key=None))
""",
)
snippet(
    "nested conditionals in calls",
    """
def f(*a, **k): return a, k
def main():
    x, l = 3, []
    return (f(1 if x else 2, x and 5, key=x or 6), l.append(f(x) if x else None), l,
            "abc".replace("a", "b" if x else "c"), [f(y if y else 0).__len__() for y in (0, 1)], f(*(l if x else [])))
""",
)
snippet(
    "chained attribute calls",
    """
class B:
    def __init__(self): self.parts = []
    def add(self, *p): self.parts.extend(p); return self
    def get(self): return self.parts
    @property
    def cb(self): return lambda *a: a
def main():
    b = B(); b.cb2 = lambda x: x + 1
    return b.add(1).add(2, 3).get(), b.cb(1), b.cb2(4), "a b".upper().split()[0].lower(), (b.add)(9).parts.pop()
""",
)
snippet(
    "recursion and many arguments",
    """
def fact(n): return 1 if n < 2 else n * fact(n - 1)
def many(*a): return len(a)
def main():
    return fact(10), many(*range(300)), many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), [fact(i) for i in range(5)]
""",
)
snippet(
    "import inside",
    """
def main():
    import os.path as p, string
    from collections import OrderedDict as O
    return p.join("a", "b"), string.digits, O(a=1)["a"]
""",
)
snippet(
    "real locks",
    """
import threading
lock = threading.Lock(); rlock = threading.RLock()
def main():
    out = []
    with lock: out.append(lock.locked())
    with rlock, rlock: out.append(1)
    return out, lock.acquire(False), lock.release(), lock.locked()
""",
)
snippet(
    "printing",
    """
import io, contextlib
def main():
    s = io.StringIO()
    with contextlib.redirect_stdout(s): print("a", [1], {"b": 2}, sep="-", end="!")
    return s.getvalue(), "{} {x}".format(1, x=[2]), "%r" % ({},), "%(a)s" % {"a": 1}
""",
)
snippet(
    "bytearray and array",
    """
from array import array
def main():
    b = bytearray(b"abc"); b[0] = 65; b.append(66); b += b"z"; del b[1]; b.extend(b"q")
    a = array("i", [1, 2]); a.append(3); a[0] += 5
    return bytes(b), b.find(b"z"), list(a), memoryview(b)[0]
""",
)
snippet(
    "descriptors and callables",
    """
class F:
    def __call__(self, x): return x * 2
class C:
    f = F(); g = staticmethod(len); h = int
def main():
    c = C(); fs = {"a": len, "b": str.upper, "c": F()}
    return c.f(2), c.g("ab"), c.h("5"), fs["a"]([1]), fs["b"]("x"), fs["c"](4), [f(x) for f, x in ((abs, -1), (int, "3"))]
""",
)
snippet(
    "star imports of names that shadow",
    """
def len(x): return "mine"
class range:
    def __init__(self, n): self.n = n
    def __iter__(self): return iter([self.n])
def main():
    return len([1]), list(range(4)), (lambda list: list)(3)
""",
)
