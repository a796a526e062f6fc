"""A package in the full sense, so that no installed distribution that leaves a `tests` folder of its own comes before it."""
