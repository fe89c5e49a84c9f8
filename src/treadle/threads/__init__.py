"""Plain Python threads under control: the front end for ordinary test functions."""
