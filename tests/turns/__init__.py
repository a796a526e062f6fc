"""Whole turns, taken back: random agents and users on real files, and every byte, mode, link and name as it was before, but for what the user did.

    python -m tests.turns                              10,000 runs on all cores; the last line says what came of them
    python -m tests.turns --seed 123                   one of them, told step by step
    python -m tests.turns --each-call --runs 50        each run whose sidecar ends, killed before and after every call of the journal in turn
    python -m tests.turns --seed 123 --moment 7        one of those, told step by step

| module | what |
|---|---|
| `play` | one run by its seed: the turns, how the sidecar ends, and the doors through which everything is taken back |
| `scene` | what a run is played with, and what is there at the moment |
| `agents_acts`, `commands` | what an agent does, and its commands |
| `users_acts` | what the user does meanwhile |
| `journals` | the journal that takes its time, and the fuse that kills before or after one of its calls |
| `slow_disk` | the disk that takes its time |
| `killed` | a part of a run in a process of its own, which is killed |
| `each_call` | a run again and again, killed a moment later each time |
| `doors` | `acp-sidecar revert`, with and without a sidecar |
| `world` | the oracle; it shares no code with the product |
"""
