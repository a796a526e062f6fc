"""What every benchmark shares: how things are measured (measure.py) and the texts they are measured on (texts.py).

A benchmark is a module of this package with a docstring and a function `cases() -> Iterator[Case]`; run.py finds it by
its name. Make the texts inside the generator, one case at a time: nothing else should be in memory meanwhile.
"""

from benchmarks._common.measure import Amount, Case, Missing, Row, Seconds, have, measure

__all__ = ["Amount", "Case", "Missing", "Row", "Seconds", "have", "measure"]
