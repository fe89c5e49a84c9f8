"""How a network runs: topology, tables, messages, controllers, properties; as a model."""
