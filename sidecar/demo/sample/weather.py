"""Readings of the weather station on the roof."""


def warmest(celsius: list[float]) -> float:
    """The highest temperature of the day."""
    return max(celsius)


def mean(celsius: list[float]) -> float:
    """The average temperature of the day."""
    return sum(celsius) / len(celsius)
