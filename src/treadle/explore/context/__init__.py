"""Context-sensitive independence: orders that lead to one state are one (ISSTA 2019, JSS 2023)."""
