"""Side by side with peers, in one run: see run.py."""
