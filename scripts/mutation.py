"""Break each line that carries soundness or optimality, one at a time: some test must fail.

Each mutant is a copy of `src/` with one piece of code replaced. Its own tests, or those that are
named by `TESTS`, run against it and stop at the first failure; a mutant that survives them is listed, and
the script ends with status 1. A mutant is noticed if a test fails, or takes far more CPU time than any
ever does; how busy the machine is decides nothing. Tests that cannot be run notice nothing.
`python scripts/mutation.py --table` prints the list for docs/testing.md, `--only WORD` runs the mutants
whose name contains the word.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cpu_limit

ROOT = Path(__file__).resolve().parent.parent
TESTS = [
    "tests/test_trace.py",
    "tests/test_papers.py",
    "tests/test_regressions.py",
    "tests/test_algorithms.py",
    "tests/test_invariants.py",
    "tests/test_model_data.py",
    "tests/test_model_blocking.py",
    "tests/test_model_processes.py",
    "tests/test_rigid.py",
    "tests/test_examples.py",
    "tests/test_conditional.py",
    "tests/test_constrained.py",
    "tests/test_properties.py",
]
OF_TAKING = ("tests/threads/test_taking.py",)
OF_CALLBACKS = ("tests/threads/test_callbacks.py", "tests/threads/test_free_threaded.py")
OUTSIDE = ("tests/threads/test_outside.py", "tests/threads/test_escapes.py")
LIBRARIES = ("tests/threads/test_library_state.py",)
NAMED = ("tests/threads/test_library_names.py",)
BY_CLASSES = ("tests/threads/test_kept_by_classes.py",)
OF_CLASSES = ("tests/threads/test_library_classes.py",)
TO_C = ("tests/threads/test_given_to_c.py",)
SHORTCUTS = ("tests/threads/test_shortcuts.py", "tests/threads/test_callbacks.py")
STORED = ("tests/threads/test_stored.py",)
HOLES = ("tests/threads/test_holes.py",)
OUT_OF_THE_WAY = ("tests/threads/test_out_of_the_way.py",)
UNASKED = ("tests/threads/test_called_unasked.py",)
EVERYDAY = ("tests/threads/test_everyday_state.py",)
NO_ORDER = ("tests/threads/test_orders_nobody_sees.py",)
SPIN = ("tests/threads/test_spin.py",)
LIVES = ("tests/threads/test_lives.py",)
KEYS = ("tests/threads/test_keys.py",)
RULES = ("tests/networks/test_rules.py",)
CONSTRAINED = ("tests/test_constrained.py",)
CROSSING = ("tests/test_crossing.py", "tests/test_cav18.py")
OF_ACTORS = ("tests/actors/test_constraints.py",)
SYNTHESIS = ("tests/smt/test_semantics.py", "tests/smt/test_traps.py", "tests/smt/test_table.py",
             "tests/smt/test_random_blocks.py")  # fmt: skip
KEEPING = ("tests/smt/test_keeping.py",)
ADVERSARIES = ("tests/actors/test_adversaries.py",)
CONTAINERS = ("tests/actors/test_containers.py",)
LOOPS = ("tests/smt/test_loops.py",)
GIVEN = ("tests/threads/test_equal_stores.py",)
OF_METHODS = ("tests/actors/test_synthesised.py",)
ENTRIES = tuple(
    f"tests/networks/test_{topic}.py"
    for topic in ("topologies", "barriers", "os_ken", "properties")
)
CUBES = ("tests/test_cubes.py",)
FOREIGN = ("tests/tasks/test_foreign_coroutines.py",)
THINGS_OF_ASYNCIO = ("tests/tasks/test_things_of_asyncio.py",)
WORKERS = tuple(
    f"tests/workers/test_{topic}.py"
    for topic in ("answers", "budgets", "checkpoint", "samples", "spawned", "counts", "hands")
)
PARTS = ("tests/workers/test_front_ends.py",)
CPU_SECONDS = 60
"""What one test may take; without a mutant none takes a fifth of it."""


@dataclass(frozen=True)
class Mutant:
    """One change that must not go unnoticed."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    """What has to notice it, if not the tests of the core."""

    def apply(self, source: Path) -> None:
        """Make the change in a copy of `src`."""
        path = source / "treadle" / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.name}: the code to change occurs {text.count(self.old)} times")
        path.write_text(text.replace(self.old, self.new))


MUTANTS = [
    # Dependence and happens-before
    Mutant("writes of one location are independent", "core/events.py",
           "_WRITER: (_READER, _WRITER, _ADDER),", "_WRITER: (_READER, _ADDER),"),
    Mutant("a read does not depend on writes", "core/events.py",
           "_READER: (_WRITER, _ADDER),", "_READER: (_ADDER,),"),
    Mutant("commuting updates do not depend on reads", "core/events.py",
           "_ADDER: (_READER, _WRITER),", "_ADDER: (_WRITER,),"),
    Mutant("a time-out does not depend on the messages it could have taken", "core/events.py",
           "            keys.update(dict.fromkeys(links.get(own, ())))\n", ""),
    Mutant("a race is not noticed", "core/happens_before.py",
           "                    races.append(race_of(Race, (event, index)))\n"
           "                    known |= before[event]",
           "                    known |= before[event]"),
    Mutant("happens-before is not transitive", "core/happens_before.py",
           "                    races.append(race_of(Race, (event, index)))\n"
           "                    known |= before[event]",
           "                    races.append(race_of(Race, (event, index)))\n"
           "                    known |= 1 << event"),
    Mutant("a step does not happen after its process's last", "core/happens_before.py",
           "known = before[last] if last >= 0 else self.past_of", "known = 0 if last >= 0 else self.past_of"),
    Mutant("a process does not happen after its creation", "core/happens_before.py",
           "base = before[creation] if creation >= 0 else 0", "base = 0"),
    Mutant("a join does not happen after the joined process", "core/happens_before.py",
           "                base |= before[end]\n",
           "                pass\n"),
    Mutant("going back leaves accesses behind", "core/happens_before.py",
           "                touched[key] &= kept\n",
           "                pass\n"),
    # Blocking
    Mutant("a take can come before the give that enabled it", "core/happens_before.py",
           "                blocking |= self.touched[take.given] & ~self.touched[take.taken]\n",
           "                pass\n"),
    Mutant("spare units make no difference", "core/happens_before.py",
           "            if not take.is_spare:\n",
           "            if True:\n"),
    Mutant("two acquisitions of a lock are never reversed", "core/happens_before.py",
           "                    self.altered.append(Altered(*race, footprint))\n",
           "                    pass\n"),
    Mutant("a receive can come before its message", "core/happens_before.py",
           "            blocking |= self.touched[needed]\n", "            pass\n"),
    Mutant("only the latest take may have disabled a receive", "core/happens_before.py",
           "            if takes and not footprint.needs and take.taken not in self.footprints[latest].brings:\n",
           "            if takes and take.taken not in self.footprints[latest].brings:\n"),
    Mutant("a reversed compare-and-swap has the same outcome", "core/happens_before.py",
           "                self.altered.append(Altered(*race, self.vocabulary.other_outcome(footprint)))\n",
           "                self.races.append(race)\n"),
    Mutant("an imagined step happens after everything", "core/happens_before.py",
           "        dependent = conflicting(footprint, self.touched) & within & ~known\n",
           "        dependent = conflicting(footprint, self.touched) & ~known\n"),
    Mutant("processes blocked at the end are forgotten", "explore/probing.py",
           "    for process, codes in blocked:", "    for process, codes in []:"),
    Mutant("only the whole of w is tried before a blocked step", "explore/probing.py",
           "                todo.append(smaller)\n", "                pass\n"),
    Mutant("writers of a condition are not candidates", "core/happens_before.py",
           "            more = bits(awaited & ~base & ~self.of_process[process])\n",
           "            more: list[int] = []\n"),
    Mutant(
        "races of old events are never handled again", "explore/source_sets/optimal.py",
        "since, self._unsettled = min(self._unsettled, self.search.shared), NEVER",
        "since = self.search.shared",
    ),
    # Open steps
    Mutant("going back keeps a race too many", "core/happens_before.py",
           "bisect_left(races, index, key=_second)", "bisect_left(races, index + 1, key=_second)"),
    Mutant("steps with something of their own are passed over", "model/run.py",
           "quick = self.steps_plainly and not self._finals", "quick = True"),
    Mutant("a method is known by its name", "python/accesses/direct_methods.py",
           "    return module_of_class(owner) in modules_under_test and all(", "    return True or all(",
           OUT_OF_THE_WAY),
    Mutant("a decimal context has no flags", "python/sharing/children.py",
           "        return [context.flags, context.traps]\n", "        return []\n", OUT_OF_THE_WAY),
    Mutant("a generator is seeded unseen", "threads/primitives/randomness.py",
           "    if id(self) in published:\n", "    if False:\n", OUT_OF_THE_WAY),
    Mutant("patched items are not seen", "threads/primitives/put_in_place.py",
           "        codes = table.whole_write()\n", "        codes = ()\n", OUT_OF_THE_WAY),
    Mutant("the sign of a counter reads nothing", "python/accesses/instruction_hooks.py",
           "if table is not None and isinstance(obj, Counter):", "if False:", OUT_OF_THE_WAY),
    Mutant("chain begins with all its arguments", "python/accesses/lazy_calls.py",
           "        return itertools.chain.from_iterable(map(iterate.lazily, iterables))\n",
           "        return itertools.chain(*[iterate.lazily(one) for one in iterables])\n", OUT_OF_THE_WAY),
    Mutant("a slice is as long as when it is replaced", "python/accesses/streams.py",
           "        if not (is_at_once(value) or _passes_on(value)):\n", "        if False:\n", OUT_OF_THE_WAY),
    Mutant("an ordered dictionary is gone back through unseen", "python/accesses/iterate.py",
           "    if isinstance(obj, OrderedDict):\n        hooks.go_through(obj, table)\n    else:\n        hooks.say(table.whole_read())\n",
           "    hooks.say(table.whole_read())\n", OUT_OF_THE_WAY),
    Mutant("no step counts as open", "model/run.py",
           "            list.append(self._log, OPEN)\n", "            pass\n"),
    Mutant("a branch on a value read decides nothing", "analyses/decisive_reads.py",
           "            path.decided |= tainted[origin]\n", "            pass\n"),
    Mutant("a location computed from a value read is fixed", "analyses/decisive_reads.py",
           "        decisive = computed | path.decided\n",
           "        decisive = path.decided\n"),
    # Sleep sets, source sets
    Mutant("dependent processes stay asleep", "explore/basic/backtracking.py",
           "        self._next_sleep = self.search.trace.independent_of(footprint, sleep)\n",
           "        self._next_sleep = dict(sleep)\n"),
    Mutant("explored processes do not fall asleep", "explore/basic/backtracking.py",
           "        return process not in self.sleep[depth]\n",
           "        return process != self.search.trace.processes[depth]\n"),
    Mutant("source-DPOR adds no initial", "explore/basic/backtracking.py",
           "        backtrack.append(processes[initials[0]])\n",
           "        pass\n"),
    Mutant("source-DPOR leaves it to the default schedule who wakes", "explore/basic/backtracking.py",
           "self.begins_with_one and not self._next_sleep and", "self.begins_with_one and"),
    Mutant("source-DPOR adds the racing process, initial or not", "explore/source_sets/source.py",
           "trace.initials(race.upto(last))", "[last]"),
    Mutant("source-DPOR takes any process for an initial", "core/happens_before.py",
           "            if before[event] & v == first:\n",
           "            if before:\n"),
    Mutant("classic DPOR is source-DPOR", "explore/source_sets/classic.py",
           "race.upto(last) & trace.before[last]",
           "race.upto(last)"),
    # Wakeup trees
    Mutant("optimal-DPOR: dependent processes stay asleep", "core/happens_before.py",
           "            if other.conflict_set.isdisjoint(own) or (\n",
           "            if True or (\n"),
    Mutant("optimal-DPOR: processes that store the same do not stay asleep", "core/happens_before.py",
           "                other.unequal and not other.conflicts_with(step)\n",
           "                False\n",
           ("tests/test_equal_stores.py",)),
    Mutant("stores of the same value race", "core/happens_before.py",
           "                if dependent and footprint.unequal:\n", "                if False:\n",
           ("tests/test_equal_stores.py",)),
    Mutant("optimal-DPOR: explored processes do not fall asleep", "explore/source_sets/optimal.py",
           "            self._next_sleep = {**(self.sleep[depth] or {}), **done}\n",
           "            self._next_sleep = {**(self.sleep[depth] or {})}\n"),
    Mutant("optimal-DPOR: sleeping weak initials do not count", "explore/source_sets/optimal.py",
           "        if not sleep or not planned.begins_with_any(sleep):\n",
           "        if not sleep or planned.begins_with_any(sleep) in (True, False):\n"),
    Mutant(
        "insertion: steps on the way down are not taken off", "explore/source_sets/wakeup_tree.py",
        "                left ^= first\n", "",
    ),
    Mutant("insertion: an independent step is no way down", "core/happens_before.py",
           "        return dependent & v or first\n",
           "        return dependent & v or first or v\n"),
    Mutant("insertion: any step is a way down", "core/happens_before.py",
           "        return dependent & v or first\n",
           "        return 0\n"),
    Mutant("insertion: an event that comes after others is a way down", "explore/source_sets/wakeup_tree.py",
           "                if not first or before[first.bit_length() - 1] & left != first:\n",
           "                if not first:\n"),
    Mutant("insertion: a leaf is extended", "explore/source_sets/wakeup_tree.py",
           "    elif not branch.children:\n"
           "        return 0\n",
           ""),
    Mutant(
        "what tells a leaf from a sibling is not kept", "explore/source_sets/wakeup_tree.py",
        "                        w.keep_first_of(obstacles, left)\n",
        "                        pass\n",
    ),
    Mutant("events that happen before e' are not kept", "explore/source_sets/optimal.py",
           "Planned(trace, v, trace.before[last] & v, last)",
           "Planned(trace, v, 1 << last, last)"),
    Mutant(
        "what tells a leaf from a sleeping process is not kept", "explore/source_sets/planned.py",
        "                self.keep_first_of(obstacles, left)\n",
        "                pass\n",
    ),
    Mutant("an event that comes after others is a weak initial", "core/happens_before.py",
           "        return dependent & v or first\n", "        return dependent & v\n"),
    Mutant("a process that sleeps before another step is redundant at once", "explore/source_sets/optimal.py",
           "            return trace.before[last] >> e + 1 == 1 << last - e - 1\n",
           "            return True\n"),
    Mutant("what makes a process a weak initial is settled", "explore/source_sets/optimal.py",
           "return planned.keep | planned.rests_on", "return planned.keep"),
    Mutant("what makes a process no weak initial is settled", "explore/source_sets/optimal.py",
           "return planned.keep | planned.rests_on", "return planned.rests_on"),
    Mutant("a step that is independent of all so far is settled", "explore/source_sets/wakeup_tree.py",
           "rests_on |= first or EVERYTHING", "rests_on |= first"),
    Mutant("a sleeper that is independent of all so far is settled", "explore/source_sets/planned.py",
           "self.rests_on = own & -own or EVERYTHING", "self.rests_on = own & -own"),
    Mutant("a reversal forgets what is not after e", "explore/reversals.py",
           "        yield Reversal(e, everything_after(trace, e) & ~after[e], lasts)\n",
           "        yield Reversal(e, 0, lasts)\n"),
    Mutant("a reversal keeps what happens after e", "explore/reversals.py",
           "        yield Reversal(e, everything_after(trace, e) & ~after[e], lasts)\n",
           "        yield Reversal(e, everything_after(trace, e), lasts)\n"),
    # The search
    Mutant("replayed steps are not compared", "model/run.py",
           "            if taken != recorded:\n                codes[index] = taken\n"
           "                return index\n", ""),
    Mutant("the first execution is not repeated", "explore/search.py",
           "(is_first and not self._repeats(run))", "False"),
    Mutant("sleep sets and exhaustive search try one process only", "explore/basic/sleep.py",
           "    return [process, *(other for other in run.enabled() if other != process)]\n",
           "    return [process]\n"),
    Mutant("deadlocks are not reported", "explore/accounts.py",
           "            self._report(Failure.of_deadlock(ending, self.schedule()))\n",
           "            pass\n"),
    Mutant("a forbidden step is done although nobody looked", "explore/context/done.py",
           "depends_on_any if was_forbidden else self._depends", "self._depends",
           ("tests/test_conditional.py",)),
    Mutant("what is left of a plan is forgotten", "explore/context/exploration.py",
           "        if not v:\n            last =", "        if not v:\n            return\n            last =",
           ("tests/test_conditional.py",)),
    Mutant("plans are made anew from where they began", "explore/context/exploration.py",
           "plan.part(left >> e - start)", "plan", ("tests/test_conditional.py",)),
    # Threads: what nobody calls by its name
    Mutant("objects that change their class unasked are private", "python/accesses/in_sight.py",
           "id(value) not in published and meets_unasked(kind)", "False", UNASKED),
    Mutant("making a class calls nothing of libraries", "python/accesses/called_by_making.py",
           "    for function, owner in methods:\n", "    for function, owner in ():\n", UNASKED),
    Mutant("what libraries assign is not looked at directly", "python/sharing/kept.py",
           "return looked_at(shared, state_of(package))", "return ()", UNASKED),
    Mutant("raising sets nothing", "python/accesses/exceptions.py",
           "    hooks.say(_written(table, (*names, _TRACEBACK)))\n", "    pass\n",
           ("tests/threads/test_raised.py",)),
    # Threads: what everyday code keeps
    Mutant("libraries cannot look through new objects", "python/sharing/nested.py",
           "            todo += [part for part in parts_of(value) if type(part) not in ATOMS]\n", "            pass\n", EVERYDAY),
    Mutant("namespaces in C hold nothing", "python/sharing/nested.py",
           "        parts = shown_by(value)\n", "        parts = ()\n", EVERYDAY),
    Mutant("built-ins are never replaced", "python/instrument/modules.py",
           '            yield "builtins", what\n', "            pass\n", EVERYDAY),
    Mutant("cells are never assigned from outside", "python/instrument/scopes.py",
           'assigns_cells="cell_contents" in stored', "assigns_cells=False", EVERYDAY),
    Mutant("libraries do not read annotations", "python/accesses/described.py",
           "            yield held.whole_read() if held is not None else ()\n", "", EVERYDAY),
    Mutant("getLogger adds to no dictionary", "python/accesses/loggers.py",
           "isinstance(given, str) and has_threads()", "False", EVERYDAY),
    # What libraries keep under names
    Mutant("attributes of classes of libraries are constants", "python/accesses/kept_state.py",
           "    changes = changes or keeping.changes(function, owner)\n", "", BY_CLASSES),
    Mutant("to make an object of a library changes nothing else", "python/accesses/calls.py",
           "kept = kept_state.touching_by_making(kind)", "kept = tuple", BY_CLASSES),
    Mutant("functions of libraries look at no names", "python/accesses/library_names.py",
           "if not shared.assigned and not shared.looked_into:", "if True:", NAMED),
    Mutant("functions of libraries assign no names", "python/accesses/library_names.py",
           "if name in shared.names and module == table.label:", "if False:", NAMED),
    Mutant("classes of libraries hold no containers", "python/instrument/module_tables.py",
           "        if type(value) in _HELD and not is_special(name):\n", "        if False:\n", OF_CLASSES),
    Mutant("attributes of classes of libraries are not assigned", "python/instrument/module_tables.py",
           "        self.shared.note(MODULE + class_feature(self.owner, what)[0], what)\n", "", OF_CLASSES),
    Mutant("functions of libraries look at no classes", "python/accesses/library_names.py",
           "            found += [(other, one) for one in _found_in_class(other, names, classes)]\n",
           "            pass\n", OF_CLASSES),
    Mutant("what libraries hold is not put back", "python/sharing/shared.py",
           "            self._restorer.add([(value, table)])\n", "            pass\n", OF_CLASSES),
    Mutant("loggers call what they always call", "python/accesses/loggers.py",
           "replaced = _replaced_for(logger, handlers) if logs else ()", "replaced = ()", OF_CLASSES),
    Mutant("an import looks nowhere", "threads/primitives/imports.py",
           "        codes += _searching(module)\n", "", OF_CLASSES),
    Mutant("an import puts nothing anywhere", "threads/primitives/imports.py",
           "    for new in () if name in sys.modules else _brought[name]:\n", "    for new in ():\n", OF_CLASSES),
    Mutant("handlers are never set", "python/accesses/loggers.py",
           "        hooks.say(changing(_HANDLERS))\n", "        pass\n", NAMED),
    Mutant("variables do not change their context", "python/accesses/contexts.py",
           "return () if table is None else (state_of(table),)", "return ()", NAMED),
    # What is given to C code and libraries
    Mutant("functions in C look into nothing", "python/accesses/given_to_c.py",
           "    hooks.look_into((*args, *kwargs.values()))\n", "", TO_C),
    Mutant("operators by name look at no operand", "python/accesses/calls.py",
           "    if name in given_to_c.COMBINING:\n", "    if not name:\n", TO_C),
    Mutant("immutable classes read nothing to begin", "python/accesses/given_to_c.py",
           "is_reading = function.__self__ in _READING_TO_BEGIN", "is_reading = False", TO_C),
    Mutant("matches have a text of their own", "python/accesses/given_to_c.py",
           "    hooks.look_into((text, *args))\n", "", TO_C),
    Mutant("functions in C are called at once", "python/accesses/given_to_c.py",
           "    return slots.resolve(function)(*args, **kwargs)\n",
           "    return function(*args, **kwargs)\n", TO_C),
    Mutant("writers in C have nothing", "python/accesses/reach.py",
           "            value = value.__self__ if type(value) in CALLED_IN_C else value\n", "", TO_C),
    Mutant("decorators set nothing", "python/accesses/applied.py",
           "    if id(target) not in published or", "    if True or", TO_C),
    Mutant("groups take nothing from their iterator", "python/accesses/iterate.py",
           "if type(obj) is itertools.groupby and", "if False and", TO_C),
    Mutant("managers of contextlib do not change", "python/accesses/managers.py",
           "        hooks.say((state_of(published[id(self._manager)]),))\n", "", TO_C),
    Mutant("a cache keeps things unseen", "python/accesses/lru_caches.py",
           "lambda: hooks.say(_asking(table, args, kwargs)), tuple,", "lambda: None, tuple,", TO_C),
    # Shortcuts
    Mutant("methods find no keys that call back", "python/accesses/container_calls.py",
           "name in _UNUSUAL or table.key_kinds or slots", "name in _UNUSUAL or slots", SHORTCUTS),
    Mutant("methods look into nothing", "python/accesses/container_calls.py",
           "    if not is_unusual and ATOMS.issuperset(map(type, args)):\n",
           "    if not is_unusual:\n", SHORTCUTS),
    Mutant("equal dictionaries are not looked into", "python/accesses/any_order.py",
           "    hooks.say(tuple(code for table in found for code in table.unordered_read()), WHOLE, left)\n",
           "", NO_ORDER),
    Mutant("a loop waits on when somebody looks at its lock", "python/runtime/spin.py",
           "return [_looks_at(lock) for lock in locks]", "return []", SPIN),
    Mutant("a loop forgets what it changed in a round that another jump ended",
           "python/runtime/spin.py", "and self.changes == last.changes", "", SPIN),
    Mutant("a thread and its task are never let go", "python/runtime/scheduler.py",
           "            task.thread = task.target = None\n", "            pass\n", SHORTCUTS),
    Mutant("finalizers between executions publish", "threads/program.py",
           "        if me is None:  # a finalizer, between two executions\n            return\n", "",
           SHORTCUTS),
    # Shared objects that die
    Mutant("letting go of an object is no step", "python/sharing/lives.py",
           "            announce((*codes, OPEN))\n", "            pass\n", LIVES),
    Mutant("who lets go last makes no difference", "python/sharing/lives.py",
           "                control.revise(_of_leaving(life, is_last=True))\n",
           "                pass\n", LIVES),
    Mutant("what frees an object that dies lives on", "python/sharing/lives.py",
           "        self._find_holders()\n        while", "        while", LIVES),
    Mutant("who follows a weak reference looks before the death", "python/accesses/weak_calls.py",
           "        lives.come_to_look()\n", "        pass\n", LIVES),
    Mutant("following a weak reference is no access", "python/accesses/weak_calls.py",
           "        slots.announce(codes)\n", "        pass\n", LIVES),
    Mutant("weak containers do not see deaths", "python/accesses/reach.py",
           "            self._add(lives.in_containers())\n", "            pass\n", LIVES),
    Mutant("methods in C that are told of a death change nothing", "python/sharing/lives.py",
           "            codes += _done_in_c(callback)\n", "", LIVES),
    Mutant("a task that ends keeps what it has of locals", "threads/primitives/local.py",
           "        locals_of_all.let_go(scheduler.me)\n", "        pass\n", LIVES),
    # C code that calls code under test
    Mutant("what C code goes on with is no step", "python/accesses/callbacks.py",
           "            caller.go_on()\n            return\n", "            return\n", OF_CALLBACKS),
    Mutant("instructions that call back go on unseen", "python/accesses/callbacks.py",
           "set_callers(me, (*before, _Instruction(frame, again, touched, is_told)))", "pass",
           OF_CALLBACKS),
    Mutant("a key that is hashed first is never looked up", "python/accesses/callbacks.py",
           "        self._again()\n\n    def end_step(self) -> None:\n        \"\"\"Once",
           "        pass\n\n    def end_step(self) -> None:\n        \"\"\"Once", OF_CALLBACKS),
    Mutant("what operators of libraries make is nobody's", "python/accesses/foreign_steps.py",
           ", is_told=not names)", ")",
           ("tests/threads/test_made_by_operators.py",)),
    Mutant("a sorted list is never empty for others", "python/accesses/sorting.py",
           "            end()\n", "            pass\n", OF_CALLBACKS),
    Mutant("keys that call back are not noticed", "python/sharing/key_kinds.py",
           "    return frozenset([kind]) | kinds_among(iterate(key))\n", "    return frozenset()\n",
           ("tests/threads/test_callbacks.py",)),
    Mutant("a factory in Python is no place to switch", "python/accesses/defaults.py",
           "        control.point()  # also", "        pass  # also", OF_CALLBACKS),
    Mutant("who takes something only looked", "python/accesses/taking.py",
           "        if len(owner) == before:\n", "        if codes:\n", OF_TAKING),
    Mutant("what somebody takes from a container of his own is no change",
           "python/instrument/rewrite.py",
           "self._out += [*(effect(at) if name in taking.TAKING else ()), i]",
           "self._out += [i]", OF_TAKING),
    Mutant("operators that are called as functions only read", "python/accesses/known_functions.py",
           "if name.startswith(\"i\") and name not in _NOT_IN_PLACE:", "if not name:", OF_CALLBACKS),
    Mutant("lists are looked through at once", "python/accesses/item_by_item.py",
           "        hooks.say(table.next_item(place))\n", "", OF_CALLBACKS),
    Mutant("what is stored one by one is not stored again", "python/accesses/streams.py",
           "hooks.say(self._codes, STORED, self._obj, self._stored)", "pass", OF_CALLBACKS),
    # Threads: what C code stores
    Mutant("elements that come one by one are not published", "python/accesses/streams.py",
           "        self._table.hand_out(value, slots.hand_out)\n        self._stored", "        self._stored",
           STORED),
    Mutant("what an iterator passes on is not published", "python/accesses/streams.py",
           "        found = _taken(values)\n    else:\n        return Stream",
           "        return values\n    else:\n        return Stream", STORED),
    Mutant("what is stored by keyword is not published", "python/accesses/streams.py",
           "        table.hand_out(value, slots.hand_out, key)\n    return ready\n", "        pass\n    return ready\n",
           STORED),
    Mutant("what a slice is assigned is not published", "python/accesses/streams.py",
           "        value = emptied(table, value)\n", "", STORED),
    Mutant("what unknown C code stores is not published", "python/accesses/reach.py",
           '            self._miss(found, f"{table.label}[...]")\n', "", STORED),
    Mutant("what a factory makes is not published", "python/accesses/defaults.py",
           "    table.hand_out(value, slots.hand_out, key)\n    codes = () if is_in_c", "    codes = () if is_in_c",
           HOLES),
    Mutant("a factory in Python is part of one step", "python/accesses/defaults.py",
           "    is_in_c = _runs_no_code(factory)\n", "    is_in_c = True\n", HOLES),
    Mutant("what a slot is set to is not published", "python/accesses/known_functions.py",
           '        slots.hand_out(value, f"{published[id(obj)].label}.{descriptor.__name__}")\n', "", STORED),
    Mutant("what an iterator remembers is not published", "python/accesses/iterate.py",
           "                _publish_what_it_remembers(obj)\n", "                pass\n", HOLES),
    Mutant("what a generator works with is its variables only", "python/sharing/children.py",
           "    for item in gc.get_referents(value):  # cells, what it loops over, what it delegates to\n"
           "        yield item, value.__name__\n", "", HOLES),
    # Threads: holes of the rewriting
    Mutant("operators under test yield what is new", "python/instrument/stack_origins.py",
           "        return _UNKNOWN if found in self._anything else Origin(found)\n",
           "        return Origin(found)\n", HOLES),
    Mutant("nothing runs between loading a method and calling it", "python/instrument/direct_calls.py",
           "                ran = position\n", "                pass\n", HOLES),
    Mutant("nothing runs between reading and writing an attribute", "python/instrument/increments.py",
           "scope.specials or ", "", ("tests/threads/test_increments.py",)),
    Mutant("methods that are replaced are loaded as they are", "python/instrument/direct_calls.py",
           "name in scope.class_names | METHODS:\n", "name in METHODS:\n", HOLES),
    Mutant("executions with first calls count", "threads/first_calls.py",
           "            if not self._have_happened():\n                return result\n",
           "            return result\n", ("tests/threads/test_first_calls.py",)),
    Mutant("special methods are never replaced", "python/instrument/scopes.py",
           "any(map(is_special, class_names | stored & OF_FUNCTIONS))", "False", HOLES),
    Mutant("variables that are assigned by computed names are not learned", "python/instrument/scopes.py",
           "        self.late |= late\n", "", HOLES),
    Mutant("names of executed code are nobody else's", "python/instrument/names.py",
           "    if scope.is_executed:\n", "    if False:\n", HOLES),
    Mutant("operators of libraries are not looked at", "python/sharing/shared.py",
           "            self.note(*FOREIGN_OPERATORS)\n", "            pass\n", HOLES),
    Mutant("what is called again and again is resolved once", "python/accesses/iterate.py",
           "    return functools.partial(_call_late, function)\n", "    return slots.resolve(function)\n", HOLES),
    Mutant("the state of objects in C is not read", "python/accesses/uninstrumented.py",
           "        return IN_STATE\n", "        return PLAIN\n", HOLES),
    Mutant("a class that is made is not known to its bases", "python/accesses/class_making.py",
           "                reach.touch(table.writes[SUBCLASSES])\n", "                pass\n", HOLES),
    # Threads: keys
    Mutant("a key of a class under test is one of its own", "python/sharing/keys.py",
           "    if not is_plain_hash(kind.__hash__):\n        return None\n", "", KEYS),
    Mutant("a value of a library is a key of its own", "python/sharing/keys.py",
           "    return key if module_of_class(kind) in _VALUES and _is_hashable(key) else _ANY\n",
           "    return kind.__name__, repr(key)\n", KEYS),
    Mutant("a subclass that says what is equal is like its base", "python/sharing/keys.py",
           "            return _built_in(base, key) if is_like_base else _ANY\n",
           "            return _built_in(base, key)\n", KEYS),
    # Forbidden steps
    Mutant("races of forbidden steps are not looked for", "explore/context/context.py",
           "for process, footprint in self._stopped.items():", "for process, footprint in ():"),
    Mutant("a forbidden step that is to be explored is passed over", "explore/context/context.py",
           "        self._look_behind(process, step, None)\n", ""),
    Mutant("open steps are only reversed behind forbidden ones", "explore/context/exploration.py",
           " or run.blocked() or any(step.guarded for step in trace.footprints):",
           " or run.blocked():"),
    Mutant("the order that is kept may hide races of open steps", "explore/context/state_check.py",
           "            if other is not step:\n", "            if other is step:\n"),
    Mutant("nobody looks after a run that was stopped", "explore/observers/observation.py",
           "        if looks:\n", "        if looks and not self.footprints:\n"),
    Mutant("processes that two orders create are not compared", "explore/context/state_check.py",
           " or not are_same(born, born_as_usual)", ""),
    # Constraints
    Mutant("the point has all that came before (as printed)",
           "explore/constrained/dependence.py",
           "point = self._closed(self.base[e] | base | self.direct[e] & direct)",
           "point = (1 << e) - 1"),
    Mutant("only shared values are compared (as printed)", "model/constrained_run.py",
           'found[f"how {self.name_of(process)} goes on"] = self._goes_on(process)', "pass"),
    Mutant("a guard is no part of a constraint (as printed)", "core/constraints.py",
           "        if not (self.is_enabled(first) and self.is_enabled(second)):\n"
           "            return False\n", "", CONSTRAINED),
    Mutant("others may write what a constraint reads", "core/constraints.py",
           "return not (read and self.may_be_written(read, set(steps)))", "return True",
           CONSTRAINED),
    Mutant("all children are joint", "core/constraints.py",
           "        if position >= len(there) or child != there[position]\n", "", CROSSING),
    Mutant("no child is joint", "explore/constrained/dependence.py",
           "                    base |= self.before[crossing.first]\n",
           "                    pass\n", CROSSING),
    Mutant("a child's creator is taken for certain", "explore/constrained/optimal_constrained.py",
           "    if is_misleading(trace):\n", "    if is_misleading(trace) and False:\n", CROSSING),
    Mutant("what is planned is noted as it was seen before", "explore/constrained/dependence.py",
           "        self.truncate(index)\n        self.append(process, codes)\n",
           "        self.footprints[index] = self.vocabulary.footprint(codes)\n", CROSSING),
    Mutant("constraints are checked at the point only", "explore/constrained/dependence.py",
           "            if footprint.block >= 0:\n                self._meet(index)\n", "", CROSSING),
    Mutant("created processes are not compared", "core/constraints.py",
           '        facts["what they create"] = Unordered(born)\n', "", CROSSING),
    Mutant("tasks cannot tell each other of actors", "actors/heap.py",
           "    todo: list[Any] = [value for task in tasks for value in _held_by(task)]\n",
           "    todo: list[Any] = [task.actor for task in tasks]\n", OF_ACTORS),
    Mutant("an invariant looks only behind both steps", "actors/constrained_run.py",
           "        if any(group == name for found", "        if False and any(group == name for found",
           OF_ACTORS),
    Mutant("a solver compares shared values alone (as printed)", "smt/commuting.py",
           "            if not self._same_local(path, side, name, one, other):\n"
           "                return False\n", "            pass\n", SYNTHESIS),
    Mutant("a solver leaves guards out (as printed)", "smt/commuting.py",
           "            if outcomes and not block.is_enabled():\n                return None\n", "",
           SYNTHESIS),
    Mutant("a solver does not compare exceptions", "smt/commuting.py",
           "        if not _same_details(path, one.raised, other.raised):\n"
           "            return False\n", "", SYNTHESIS),
    Mutant("a solver does not compare where blocks end", "smt/commuting.py",
           "        if (one.ends_at, one.rounds) != (other.ends_at, other.rounds):\n"
           "            return False\n", "", SYNTHESIS),
    Mutant("a solver does not compare created processes", "smt/commuting.py",
           "        if not self._create_the_same(path, usual, other):\n"
           "            return False\n", "", SYNTHESIS),
    Mutant("values of two kinds may be the same", "smt/on_path.py",
           "            raise UnsureError  # it may be anything\n        return False\n",
           "            raise UnsureError  # it may be anything\n        return True\n", SYNTHESIS),
    Mutant("a cube need not exclude all other paths", "smt/cubes.py",
           "        if not self._excludes_wrong(literals):\n            return None\n", "", SYNTHESIS),
    Mutant("a constraint is kept if one path keeps it", "smt/keeping.py",
           "kept.always = all(leaf.result for leaf in leaves)",
           "kept.always = any(leaf.result for leaf in leaves)", KEEPING),
    Mutant("results of tasks are not compared", "smt/commuting.py",
           "return same(path, one.returned, other.returned)", "return True", OF_METHODS),
    Mutant("coroutines of libraries go on unseen", "tasks/loop.py",
           "            goes_on(frames_of(self._running))\n            self._call(step)\n"
           "            goes_on(frames_of(self._running))\n",
           "            self._call(step)\n            self._frames = frames_of(self._running)\n",
           FOREIGN),
    Mutant("protocols of libraries are called unseen", "tasks/network/connection.py",
           "return slots.resolve(method)(*args)", "return method(*args)", FOREIGN),
    Mutant("what a task runs is handed out unseen", "tasks/futures.py",
           "        slots.hand_out(self._coro, \"coroutine\")\n", "", THINGS_OF_ASYNCIO),
    Mutant("how far a generator is cannot be seen", "python/accesses/reach.py",
           "self._add((look_at_state_of(table),))", "pass", THINGS_OF_ASYNCIO),
    Mutant("mocks are awaited unseen", "threads/primitives/mocks.py",
           "        (_Async, \"_execute_mock_call\", _execute_mock_call),\n", "", FOREIGN),
    Mutant("kinds of fields are taken for certain", "actors/constrained_run.py",
           "and _has_kinds(actor, declared.basis)", "", OF_METHODS),
    Mutant("what is sent in other ways is of no kind", "actors/field_kinds.py",
           "        if not self._is_closed:\n            self._kinds.forget_shared()\n", "",
           OF_METHODS),
    Mutant("a property is a field", "actors/field_kinds.py",
           "return _DECIDING.isdisjoint(members) and not hasattr(type(members.get(name)), \"__get__\")",
           "return bool(cls)", ADVERSARIES),
    Mutant("1 and True are told apart as keys", "smt/contents.py",
           ' or kinds == {"int", "bool"}:', ":", CONTAINERS),
    Mutant("what is appended is not compared", "smt/contents.py",
           "if len(mine) != len(its) or not all(map(self._same_value, mine, its)):",
           "if len(mine) != len(its):", CONTAINERS),
    Mutant("values that were computed are compared", "python/instrument/variables.py",
           "    return frozenset(code.co_varnames[:count]) - stored\n",
           "    return frozenset(code.co_varnames)\n", GIVEN),
    Mutant("a loop is a function of what it writes", "smt/loops.py",
           'every = [*inside, *(node for arg in _bounds(loop) for node in ast.walk(arg))]',
           "every = inside", LOOPS),
    Mutant("a loop leaves what its name held", "smt/execution.py",
           "                self.store.scalars[shared[0]] = left\n", "                pass\n", LOOPS),
    Mutant("every task that is awaited has not begun", "actors/method_source.py",
           "if name in self._sent or self._always_waits:", "if name:", OF_METHODS),
    # Networks: what rules of a table depend on
    Mutant("another value for a key commutes with the first", "model/rules.py",
           "            self._link(changed, others, self.mode)\n", "", RULES),
    Mutant("an entry does not depend on look-ups before it", "model/rules.py",
           "            self._link(changed, asked, Mode.READ)\n", "", RULES),
    Mutant("a look-up does not depend on entries before it", "model/rules.py",
           "            self._link(code(location, Mode.READ), answering, self.mode)\n",
           "            pass\n", RULES),
    Mutant("equal entries do not commute", "model/rules.py",
           "mode: ClassVar[Mode] = Mode.ADD", "mode: ClassVar[Mode] = Mode.WRITE", RULES),
    Mutant("wildcards cover nothing", "networks/world/matching.py",
           "name in fields and agrees(value, fields[name]) for name, value in wanted",
           "agrees(dict(wanted).get(name), value) for name, value in fields.items()", ENTRIES),
    Mutant("a sweep of a table is independent of its rules", "networks/world/tables.py",
           "        self._touch(Mode.WRITE)\n        return found", "        return found", ENTRIES),
    Mutant("messages overtake a barrier that nobody waits for", "networks/world/semantics.py",
           "self.state.epochs[self._switches[message.switch]] += 1", "pass", ENTRIES),
    Mutant("an arrival is seen by nobody", "networks/world/semantics.py",
           "        self.state.arrived.put((copy.packet, host), True)",
           "        self.state.arrived.note((copy.packet, host), True)", ENTRIES),
    # Threads: the world outside
    Mutant("directories above a path are not looked at", "threads/primitives/outside/paths.py",
           "        above = reading(*(_existence(files.name(path)) for path in self.passed))\n",
           "        above: Codes = ()\n", OUTSIDE),
    Mutant("relative paths do not depend on the directory", "threads/primitives/outside/paths.py",
           "        codes = (*above, *reading(DIRECTORY)) if self.is_relative else above\n",
           "        codes = above\n", OUTSIDE),
    Mutant("links lead where they led", "threads/primitives/outside/paths.py",
           "return (*codes, OPEN) if codes and self._may_lead_elsewhere() else codes", "return codes", OUTSIDE),
    Mutant("files do not lose names", "threads/primitives/outside/paths.py",
           "            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):\n",
           "            if False:\n", OUTSIDE),
    Mutant("a file has the name it was opened by", "threads/primitives/outside/paths.py",
           "        return list(names)\n", "        return [self.name(path)]\n", OUTSIDE),
    Mutant("links are not followed", "threads/primitives/outside/paths.py",
           "            real = os.path.realpath(path)\n", "            real = os.path.abspath(path)\n", OUTSIDE),
    Mutant("making a file does not change the directory", "threads/primitives/outside/paths.py",
           ", *adding(_entries(parent)))", ",)", OUTSIDE),
    Mutant("new files do not depend on the mask", "threads/primitives/outside/os_functions.py",
           "reading(MASK) if any(use in _MAKING for _, use in uses) else ()", "()", OUTSIDE),
    Mutant("descriptors have no position", "threads/primitives/outside/paths.py",
           'return (*self.read(), *writing(f"position in {self.name()}"))', "return self.read()", OUTSIDE),
    Mutant("a file object that is shared has no state", "threads/primitives/outside/file_objects.py",
           "() if table is None else (state_of(table),)", "()", OUTSIDE),
    Mutant("what earlier executions left is not noticed", "threads/primitives/outside/paths.py",
           "        now.told.add(path)\n", "        return\n", OUTSIDE),
    Mutant("surroundings are not put back", "threads/primitives/outside/surroundings.py",
           "        if _changed:\n", "        if False:\n", OUTSIDE),
    Mutant("what libraries open is not named", "threads/primitives/outside/handles.py",
           "            escapes.add(NOT_SEEN.format(what), name)\n", "            pass\n", OUTSIDE),
    Mutant("calls that lead outside are not named", "python/accesses/outside_modules.py",
           "        if why:\n            escapes", "        if False:\n            escapes", OUTSIDE),
    Mutant("attributes of modules of libraries are not shared", "python/instrument/module_tables.py",
           'return (self.at(what, Mode.READ, f".{what}"), *kept_there)', "return ()", LIBRARIES),
    Mutant("what libraries keep in modules is not shared", "python/instrument/module_tables.py",
           "    elif kind in _HELD:\n", "    elif False:\n", LIBRARIES),
    Mutant("classes of libraries are not entered", "python/instrument/module_tables.py",
           "        shared.enter_for_good(kind, table)\n", "        pass\n", LIBRARIES),
    Mutant("imports do not look into sys.modules", "threads/primitives/imports.py",
           "            codes += (*table.membership(module), *_loading(module, table))\n",
           "            codes += _loading(module, table)\n", LIBRARIES),
    Mutant("a seeded generator is each thread's own", "threads/primitives/randomness.py",
           "    if name in _SEEDING:\n", "    if False:\n", LIBRARIES),
    Mutant("looks at a shared clock are no steps", "threads/primitives/clock.py",
           "    control.announce((code(shared.location(_CLOCK, _CLOCK), Mode.WRITE),))\n", "",
           LIBRARIES),
    # Cubes and workers
    Mutant("the second part of a split counts what the first counts, too",
           "explore/cubes/belongs.py",
           "if a != NONE and not by_interleaving and not _are_ordered(trace, edges, b, a):",
           "if False:", CUBES),
    Mutant("what was explored of a part that is divided counts", "session/workers/task.py",
           "            answer.lost += begun(counts_of(result))\n",
           "            answer.counts += counts_of(result)\n", WORKERS),
    Mutant("orders before a split are no edges for its claim", "explore/cubes/belongs.py",
           "        firsts.append((number(first.process), first.number))\n", "", CUBES),
    Mutant("an execution that an order has stopped counts", "explore/cubes/narrowed.py",
           "return run.is_stuck or not is_own(", "return not is_own(", CUBES),
    Mutant("steps that are replayed are not counted for orders", "explore/cubes/narrowed.py",
           "one: number + processes.count(one) for", "one: number for", CUBES),
    Mutant("an answer of an earlier beginning is taken", "session/workers/coordinator.py",
           "if job is None or job.number < self._first:", "if job is None:", WORKERS),
    Mutant("an answer is taken twice", "session/workers/coordinator.py",
           "job = self._flying.pop(outcome.number, None)", "job = self._flying.get(outcome.number)",
           WORKERS),
    Mutant("the parts of a hand that died are forgotten", "session/workers/coordinator.py",
           "        self._state.pending.extendleft(reversed(deaths))\n", "", WORKERS),
    Mutant("parts that nobody answered are forgotten at the end", "session/workers/coordinator.py",
           "                state.pending.extendleft(reversed(job.parts))\n",
           "                pass\n", WORKERS),
    Mutant("a checkpoint has no parts that are under way", "session/workers/coordinator.py",
           "pending=deque([*flying, *self._state.pending])", "pending=self._state.pending",
           WORKERS),
    Mutant("a part that is begun anew counts as unfinished, too", "session/workers/coordinator.py",
           "        self.unfinished.remove(least)\n",
           "        del self.unfinished[:]\n        self.unfinished.append(least)\n", WORKERS),
    Mutant("samples after the first that fails count", "session/workers/taken.py",
           "        if found and found[-1].reason:\n", "        if False:\n", WORKERS),
    Mutant("half a message is a message", "session/workers/messages.py",
           "            raise EOFError\n", "            break\n", WORKERS),
    Mutant("one of the parts of a cube is forgotten", "session/workers/spaces.py",
           "return self._children if len(self._children) > 1 else [part]",
           "return self._children[1:] if len(self._children) > 1 else [part]", WORKERS),
    Mutant("a class that two parts have in common counts twice", "session/workers/coordinator.py",
           "            if any(digest in state.ran for digest in one.digests):\n",
           "            if False:\n", PARTS),
    Mutant("what was cut is forgotten where others go on", "session/workers/task.py",
           "        answer.incomplete = answer.incomplete or search.left_out\n", "", PARTS),
    Mutant("a checkpoint that was changed is read", "session/workers/checkpoint.py",
           '    if content.pop("digest", "") != _digest(content):\n',
           '    if not content.pop("digest", ""):\n', WORKERS),
    Mutant("hands may run another program", "session/workers/handshake.py",
           "        if one != other:\n", "        if False:\n", WORKERS),
]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What tests say about a mutant."""

    is_noticed: bool
    by: str
    """Which test fails, or what is wrong."""


def verdict(status: int, output: str) -> Verdict:
    """Return what the end of pytest means: status 1 is a test that failed, 0 that none did."""
    if status == -signal.SIGXCPU:
        return Verdict(True, "a test that does not end")
    failed = [line for line in output.splitlines() if line.startswith("FAILED")]
    if status == 1 and failed:
        return Verdict(True, failed[0].split(" - ")[0].split("::", 1)[-1])
    return Verdict(False, "" if status == 0 else f"the tests could not be run (status {status})")


def run_tests_against(
    source: Path, tests: Sequence[str], cpu_seconds: int = CPU_SECONDS
) -> Verdict:
    """Run tests against a copy of `src`."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider",
               "-p", "cpu_limit", "-m", "not slow and not minutes", *tests]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source), str(ROOT / "scripts")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        cpu_limit.VARIABLE: str(cpu_seconds),
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return verdict(done.returncode, done.stdout)


def judged(mutant: Mutant) -> tuple[Verdict, float]:
    """Make a mutant and run its tests; return what they say, and how many seconds they took."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        mutant.apply(source)
        return run_tests_against(source, mutant.tests or TESTS), time.monotonic() - started


def main() -> int:
    """Run the mutants and report the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run mutants whose name contains this")
    parser.add_argument("--table", action="store_true", help="print a table for the documentation")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    survivors = 0
    if options.table:
        print("| broken on purpose | in | noticed by |\n|---|---|---|")
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (said, seconds) in zip(chosen, pool.map(judged, chosen), strict=True):
            survivors += not said.is_noticed
            if options.table:
                by = f"`{said.by}`" if said.is_noticed else f"**nobody** {said.by}".rstrip()
                print(f"| {mutant.name} | `{mutant.file}` | {by} |", flush=True)
            else:
                print(f"{'noticed ' if said.is_noticed else 'SURVIVED'} {seconds:5.0f} s  {mutant.name}"
                      f"{'  by ' + said.by if said.by else ''}", flush=True)  # fmt: skip
    print(f"\n{len(chosen) - survivors} of {len(chosen)} mutants were noticed", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
