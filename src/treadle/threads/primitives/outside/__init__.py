"""The world outside of the program: what of it is modelled, and what is named in the verdict."""
