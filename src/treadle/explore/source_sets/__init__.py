"""Source- and optimal-DPOR ("Source Sets", J. ACM 2017), and classic DPOR."""
