"""The pytest plugin: tests of pytest's as programs that Treadle explores.

A guided tour. `_treadle_pytest`, outside of this package, is what pytest loads; it hands over the
tests that are marked for Treadle to `session.take_over`. From then on a test is:

- `repeated`: a test item that can be run again and again, each time with new fixtures; all that
  depends on pytest's inner workings is there;
- `executions`: what Treadle explores, one call of it being one execution, with what surrounds a
  test (output, log records, warnings) kept apart for each;
- `checking`: the recorded failures first, then the exploration, then shrinking; the outcome is a
  `verdict`;
- `longrepr`: what pytest shows of a failure; `tracebacks` cuts those to the frames of the user.

`summary` writes the lines at the end, `live` the line that moves while a test is explored.
"""
