"""The asyncio front end: handles of an event loop as steps."""
