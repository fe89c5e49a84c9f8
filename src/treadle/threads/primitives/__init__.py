"""Stand-ins for the standard library's primitives, one file each."""
