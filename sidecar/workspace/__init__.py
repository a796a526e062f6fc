"""The service every door calls: what a read and a write mean, stated once, over the ports it needs from outside."""
