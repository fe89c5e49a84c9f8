"""Modules that lead out of what Treadle sees: a call of theirs is named in the verdict."""

from __future__ import annotations

import contextvars
import functools
import sys
import types
from typing import Any

from treadle.python.accesses.container_methods import MUTATORS
from treadle.python.accesses.uninstrumented import is_immutable, is_silent, modules_under_test
from treadle.python.runtime import control, notes
from treadle.python.runtime.escapes import escapes
from treadle.python.runtime.looking import module_of_class, mro_of, qualname_of
from treadle.python.runtime.spin import effects, unseen

NOT_SEEN = "what threads do to each other through {} is not seen"
_WHAT = {
    "sockets": "_socket ssl _ssl select",
    "an event loop": "asyncio _asyncio",
    "a database": "_sqlite3 dbm _dbm _gdbm shelve",
    "mapped memory": "mmap",
    "other processes": "multiprocessing _multiprocessing _posixshmem subprocess pty",
    "signals": "signal _signal",
    "locks of files": "fcntl msvcrt",
    "C code": "ctypes _ctypes cffi _cffi_backend",
    "the system log": "syslog",
    "a terminal": "curses _curses readline termios tty getpass",
    "windows": "tkinter _tkinter webbrowser",
    "the registry": "winreg",
}
_HARMLESS = frozenset(
    {"asyncio.coroutines", "multiprocessing.connection"}  # that is on pipes and sockets
)
"""Modules with such a name that lead nowhere."""
_OUTSIDE = {module: what for what, modules in _WHAT.items() for module in modules.split()}


@functools.cache
def why_outside(module: str) -> str:
    """Return what of a module is not seen; nothing if it does not lead outside."""
    if module in _HARMLESS:
        return ""
    while module:
        if module in _OUTSIDE:
            return NOT_SEEN.format(_OUTSIDE[module])
        module = module.rpartition(".")[0]
    return ""


@functools.cache
def hides_what_it_does(module: str) -> bool:
    """Tell whether what a module's code does may depend on what nobody sees.

    It leads outside, or is of a library that is not of Python and not looked into.
    """
    package = module.partition(".")[0]
    return package in _HIDING or package not in _KNOWN or bool(why_outside(module))


def note_hidden(module: str) -> None:
    """Take note that code of a module is called."""
    if hides_what_it_does(module):
        unseen[0] = True


def note_change(module: str | None) -> None:
    """Take note that a function of a module is called, which may change what only it knows."""
    if module is None:
        return
    if hides_what_it_does(module):
        unseen[0] = True
    elif not is_silent(module) and module.partition(".")[0] not in _WITHOUT_STATE:
        effects[0] = True


def note_changing_method(kind: type, name: str) -> None:
    """Take note that a method in C is called, if it is known to change its object."""
    if name in MUTATORS or (kind is contextvars.ContextVar and name != "get"):
        effects[0] = True


def note_method(kind: type, name: str) -> None:
    """Take note that a method of an object in C is called, which may change what that hides.

    A loop around `stream.readline()` is in another state after each round, whoever else looks.
    """
    if hides_what_it_does(module_of_class(kind)):
        unseen[0] = True
    elif name not in _ASKING and not is_immutable(kind):
        effects[0] = True


_WITHOUT_STATE = frozenset(
    {
        "_bisect", "_blake2", "_codecs", "_collections_abc", "_hashlib", "_json", "_md5",
        "_operator", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_stat", "_statistics",
        "_string", "_struct", "abc", "ast", "base64", "binascii", "bisect", "builtins",
        "calendar", "cmath", "collections", "colorsys", "contextlib", "copy", "dataclasses",
        "datetime", "decimal", "difflib", "dis", "encodings", "enum", "errno", "faulthandler",
        "fnmatch", "fractions", "functools", "gc", "hashlib", "hmac",
        "html", "importlib", "inspect", "ipaddress", "json", "keyword", "linecache", "logging",
        "marshal", "math", "ntpath", "numbers", "operator", "os", "pathlib", "platform",
        "posixpath", "pprint", "re", "reprlib", "stat", "statistics",
        "string", "struct", "sys", "textwrap", "threading", "time", "traceback", "treadle",
        "types", "typing", "unicodedata", "urllib", "warnings", "weakref", "zlib",
    }
)  # fmt: skip
"""Modules whose code changes nothing that only it knows, or is seen when it does."""


_ASKING = frozenset(
    {
        "closed", "copy", "digest", "fileno", "getvalue", "hexdigest", "isatty", "readable",
        "seekable", "tell", "writable",
    }
)  # fmt: skip
"""Methods of objects in C that change nothing, by what they are called."""


def look_outside(module: str | None, name: str, owner: Any = None) -> None:
    """Say so if a function of a module, of an object that is shared, leaves what is seen."""
    if (module, name) in _SETTINGS:
        escapes.add("settings of the whole process are not modelled", f"{module}.{name}")
    elif (module, name) in _KNOWING_OTHERS:
        escapes.add("what others do to what it tells is not seen", f"{module}.{name}")
    elif module in _OF_ONE_LOOP and owner is not None and not _is_in_its_loop(owner):
        escapes.add(NOT_SEEN.format("an event loop"), f"{module}.{name}")
    elif (module, name) in _FILES:
        escapes.add(NOT_SEEN.format("a file that is opened like this"), f"{module}.{name}")
    elif module is not None and module.partition(".")[0] in _FIRST:
        is_seen = _is_of_own_loop(module, name) or (module, name) in _ON_PIPES
        why = "" if is_seen else why_outside(module)
        if why:
            escapes.add(why, f"{module}.{name}")


def _is_of_own_loop(module: str, name: str) -> bool:
    """Tell whether something is asyncio's and used as it should be: its loops are under control.

    Futures and tasks are written in C, and nobody sees who touches one from another thread.
    """
    if module.partition(".")[0] == "asyncio":
        return name != "SelectorEventLoop"
    if module != "_asyncio":
        return False
    loop = sys.modules["asyncio"]._get_running_loop()
    return loop is not None or not name.startswith(("Future.", "Task."))


def _is_in_its_loop(owner: Any) -> bool:
    """Tell whether the current thread runs the loop that an object of asyncio belongs to."""
    running = sys.modules["asyncio"]._get_running_loop()
    return running is not None and getattr(owner, "_loop", None) in (None, running)


_OF_ONE_LOOP = frozenset({"asyncio.locks", "asyncio.queues"})
"""Modules whose objects wake up tasks: who calls them from another thread wakes up nobody."""
_KNOWING_OTHERS = frozenset(
    {
        *(("sys", name) for name in ("getrefcount", "_current_frames", "_current_exceptions",
          "getallocatedblocks", "_debugmallocstats")),
        *(("gc", f"get_{name}") for name in ("objects", "referrers", "count", "stats")),
        *(("_weakref", f"getweakref{what}") for what in ("count", "s")),
        *(("_tracemalloc", name) for name in ("get_traced_memory", "_get_traces")),
        *((module, name) for module in ("posix", "nt") for name in ("times",)),
        ("resource", "getrusage"),
    }
)  # fmt: skip
"""Functions that tell what the whole interpreter does."""
_SETTINGS = frozenset(
    {
        *(("sys", f"set{name}") for name in ("recursionlimit", "switchinterval", "dlopenflags")),
        *(("gc", name) for name in ("enable", "disable", "set_threshold", "set_debug")),
        *(("atexit", name) for name in ("register", "unregister")),
        *(("_codecs", name) for name in ("register", "unregister", "register_error")),
        *(("_csv", f"{name}_dialect") for name in ("register", "unregister")),
        *(("gettext", name) for name in ("textdomain", "bindtextdomain", "install")),
        *(("logging", name) for name in ("addLevelName", "setLoggerClass", "captureWarnings",
          "setLogRecordFactory")),
        *(("logging.config", name) for name in ("dictConfig", "fileConfig", "listen")),
        *(("fileinput", name) for name in ("input", "close")),
        *(("copyreg", f"{do}_extension") for do in ("add", "remove")),
        *(("sys.monitoring", name) for name in ("use_tool_id", "free_tool_id", "set_events")),
        *(("threading", f"{name}_all_threads") for name in ("settrace", "setprofile")),
        *(("_tracemalloc", name) for name in ("clear_traces", "reset_peak", "start", "stop")),
        *(("threading", name) for name in ("settrace", "setprofile")),
        *(("gc", name) for name in ("freeze", "unfreeze")),
        *(("faulthandler", name) for name in ("enable", "disable", "register", "unregister")),
        *(("unittest.signals", name) for name in ("installHandler", "removeHandler",
          "registerResult", "removeResult")),
        *((module, "clear_cache") for module in ("urllib.parse", "filecmp")),
        *(("site", name) for name in ("addsitedir", "addsitepackages", "addpackage")),
        *(("shutil", f"{do}_{form}_format") for do in ("register", "unregister")
          for form in ("archive", "unpack")),
        *(("sqlite3", f"register_{name}") for name in ("adapter", "converter")),
        *(("email.charset", f"add_{name}") for name in ("charset", "alias", "codec")),
        ("_csv", "field_size_limit"), ("calendar", "setfirstweekday"),
        ("doctest", "register_optionflag"), ("doctest", "set_unittest_reportflags"),
        ("re", "purge"), ("zoneinfo", "ZoneInfo.clear_cache"),
        ("gettext", "NullTranslations.install"), ("sys", "set_coroutine_origin_tracking_depth"),
        ("urllib.request", "install_opener"), ("urllib.request", "urlcleanup"),
        ("xml.dom.domreg", "registerDOMImplementation"), ("zoneinfo._tzpath", "reset_tzpath"),
        ("typing", "clear_overloads"), ("copyreg", "clear_extension_cache"),
        *(("asyncio.events", f"{name}set_event_loop_policy") for name in ("", "_")),
        ("asyncio.events", "set_child_watcher"),
        *(("unittest.case", f"{do}ModuleCleanup{s}") for do, s in (("add", ""), ("do", "s"))),
        ("logging.config", "stopListening"),
        ("copyreg", "pickle"), ("copyreg", "constructor"), ("resource", "setrlimit"),
        ("xml.etree.ElementTree", "register_namespace"), ("_thread", "stack_size"),
        ("sys", "set_int_max_str_digits"), ("sys", "addaudithook"),
        ("sys", "settrace"), ("sys", "setprofile"), ("time", "tzset"), ("locale", "setlocale"),
        ("_locale", "setlocale"), ("importlib", "reload"),
    }
)  # fmt: skip
"""Functions that change something which belongs to the whole process."""
_FILES = frozenset({("_io", "FileIO"), ("io", "FileIO"), ("_io", "open_code"), ("io", "open_code")})
_ON_PIPES = frozenset({("multiprocessing.context", "BaseContext.Pipe")})
_FIRST = frozenset(module.partition(".")[0] for module in _OUTSIDE)


_HIDING = frozenset({"sqlite3", "genericpath", "glob", "nt", "posix", "shutil"})
"""Modules of the standard library whose functions look at what other programs may change."""
_KNOWN = sys.stdlib_module_names | {"greenlet", "builtins", "treadle"}


def meet_extension(what: Any) -> None:
    """Say so if something shared meets code in C that came with no Python: a function, a class."""
    module, name = _home_of(what)
    if module.partition(".")[0] not in _KNOWN and not control.the_program().is_atomic:
        escapes.add(
            "C code may let other threads run meanwhile; here it is one step", f"{module}.{name}"
        )


def meet_memory(kind: type) -> None:
    """Say so if an instance of a class is about to be made that lays out memory for C code."""
    for base in mro_of(kind):
        if module_of_class(base) == "_ctypes":
            look_outside("ctypes", base.__qualname__)
            break


def pass_extension(what: Any) -> None:
    """Say so if code in C is called that gets nothing shared: it may keep something itself."""
    if issubclass(type(what), types.BuiltinFunctionType):
        module, name = _home_of(what)
        package = module.partition(".")[0]
        if package not in _KNOWN:
            notes.remark(
                f"extension {package}",
                f"{module}.{name}",
                "what C code keeps for itself is not seen ({})",
            )


def _home_of(what: Any) -> tuple[str, str]:
    """Return the module and name of a function or class in C, or of what a class derives from."""
    if issubclass(type(what), type):
        owners = [
            owner for owner in mro_of(what) if module_of_class(owner) not in modules_under_test
        ]
        return module_of_class(owners[0]), owners[0].__qualname__
    module = getattr(what, "__module__", None) or module_of_class(type(what))
    return str(module), getattr(what, "__qualname__", qualname_of(type(what)))
