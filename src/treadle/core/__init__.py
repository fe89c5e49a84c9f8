"""What everything else is built on: events, their order, the seam to front ends, results.

It depends on nothing but the standard library, and knows neither front ends nor reports.
"""
