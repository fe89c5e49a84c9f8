"""Source- and optimal-DPOR, and classic DPOR.

"Source Sets" is "Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction" (Journal of
the ACM 64, 2017).
"""
