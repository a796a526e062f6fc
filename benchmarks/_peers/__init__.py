"""What the benchmarks start as processes: peers in Python (those in JavaScript are in benchmarks/node) and a stand-in agent."""
