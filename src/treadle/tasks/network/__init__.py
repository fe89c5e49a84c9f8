"""The network of an execution: connections and servers in memory."""
