"""The promise under real hands: random people and agents in real editors, and an account of every token they typed.

    make hands EDITOR=vscode RUNS=500              many runs; the last line sums them up
    make hands EDITOR=vscode SEED=17               one run again, step by step
    make hands EDITOR=all                          full size in every editor, one after the other; a line for each at the end

| module | what |
|---|---|
| `steps` | a seed becomes a plan: files, settings, and what the person and the agent do. Knows no editor |
| `tokens` | marks in the text, each used once, so that losses and doublings can be counted |
| `oracle` | what the person typed and what the agent did, and what must be in each file in the end |
| `agent` | the scripted agent, a process of its own; it writes down what it saw, sent and was answered |
| `editor` | what a driver must be able to do: the `Editor` protocol |
| `run` | carries one plan out in one editor |
| `batch` | many runs in one editor |
| `report` | one run's end, and the sums of many |
| `vscode`, `nvim`, `emacs`, `helix` | the drivers, one an editor |
| `relay` | sends commands to the sidecar of an editor that cannot (Helix) |
| `approved` | the agent in the sidecar's settings, approved |

Nothing here imports the product: the account must not share its mistakes.
"""
