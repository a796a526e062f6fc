import assert from "node:assert/strict";
import { test } from "node:test";
import { NotInCells, parsed, sourceOf, steps, type Cell, type Notebook, type Step } from "../../../src/editing/notebooks/steps";

const OUT = [{ output_type: "stream", name: "stdout", text: ["1\n"] }];

function code(id: string, source: string, more: Partial<Cell> = {}): Cell {
  return { cell_type: "code", id, source, metadata: {}, execution_count: null, outputs: [], ...more };
}

function words(id: string, source: string): Cell {
  return { cell_type: "markdown", id, source, metadata: {} };
}

function notebook(cells: readonly Cell[], metadata: unknown = {}): Notebook {
  return { cells, metadata, nbformat: 4, nbformat_minor: 5 };
}

const THREE = [code("a", "1"), words("b", "two"), code("c", "3", { outputs: OUT })];

const CASES: readonly [string, readonly Cell[], readonly Step[]][] = [
  ["nothing", THREE, []],
  [
    "a source, wherever the cell has outputs",
    [code("a", "1"), words("b", "two"), code("c", "4\n5", { outputs: OUT })],
    [{ kind: "source", index: 2, cell: code("c", "4\n5", { outputs: OUT }) }],
  ],
  [
    "metadata",
    [code("a", "1", { metadata: { tags: ["x"] } }), THREE[1]!, THREE[2]!],
    [{ kind: "metadata", index: 0, cell: code("a", "1", { metadata: { tags: ["x"] } }) }],
  ],
  ["a cell more", [THREE[0]!, code("n", "new"), THREE[1]!, THREE[2]!], [{ kind: "replace", start: 1, end: 1, cells: [{ cell: code("n", "new") }] }]],
  ["a cell less", [THREE[0]!, THREE[2]!], [{ kind: "replace", start: 1, end: 2, cells: [] }]],
  [
    "another kind",
    [words("a", "1"), THREE[1]!, THREE[2]!],
    [{ kind: "replace", start: 0, end: 1, cells: [{ cell: words("a", "1") }] }],
  ],
  [
    "a source and metadata, and another cell, in one history",
    [code("a", "2", { metadata: { tags: ["x"] } }), THREE[1]!, code("c", "4", { outputs: OUT }), words("n", "new")],
    [
      { kind: "replace", start: 0, end: 1, cells: [{ cell: code("a", "2", { metadata: { tags: ["x"] } }) }] },
      { kind: "replace", start: 2, end: 3, cells: [{ cell: code("c", "4", { outputs: OUT }), outputsOf: 2 }] },
      { kind: "replace", start: 3, end: 3, cells: [{ cell: words("n", "new") }] },
    ],
  ],
  [
    "outputs taken out",
    [THREE[0]!, THREE[1]!, code("c", "3")],
    [{ kind: "replace", start: 2, end: 3, cells: [{ cell: code("c", "3") }] }],
  ],
  [
    "another order takes the outputs along",
    [THREE[2]!, THREE[0]!, THREE[1]!],
    [
      { kind: "replace", start: 0, end: 0, cells: [{ cell: THREE[2]!, outputsOf: 2 }] },
      { kind: "replace", start: 2, end: 3, cells: [] },
    ],
  ],
];

for (const [name, after, expected] of CASES) {
  test(name, () => assert.deepEqual(steps(notebook(THREE), notebook(after)), expected));
}

test("cells without ids are found by what they say, and what is as long goes on in place", () => {
  const bare = (source: string): Cell => ({ cell_type: "code", source, metadata: {}, execution_count: null, outputs: [] });
  const old = notebook([bare("1"), bare("2"), bare("3")]);
  assert.deepEqual(steps(old, notebook([bare("1"), bare("two"), bare("3")])), [{ kind: "source", index: 1, cell: bare("two") }]);
  assert.deepEqual(steps(old, notebook([bare("2"), bare("3")])), [{ kind: "replace", start: 0, end: 1, cells: [] }]);
});

test("the notebook's own metadata", () => {
  const metadata = { kernelspec: { name: "other" } };
  assert.deepEqual(steps(notebook(THREE), notebook(THREE, metadata)), [{ kind: "document", metadata }]);
});

test("what cannot be made in cells is said", () => {
  const made = [{ ...OUT[0], text: ["forged\n"] }];
  const cases: readonly [() => unknown, RegExp][] = [
    [() => parsed("{"), /not JSON/],
    [() => parsed("[]"), /not a notebook/],
    [() => parsed("null"), /not a notebook/],
    [() => parsed('{"cells": [{}]}'), /not a notebook/],
    [() => parsed('{"cells": [{"cell_type": "code", "source": [1]}]}'), /not a notebook/],
    [() => steps(notebook(THREE), notebook([code("n", "x", { outputs: made })])), /outputs of cells come from running them/],
    [() => steps(notebook(THREE), { ...notebook(THREE), nbformat_minor: 4 }), /format/],
  ];
  for (const [act, expected] of cases) {
    assert.throws(act, (error) => error instanceof NotInCells && expected.test(error.message));
  }
});

/** Random notebooks: the steps lead from one to the other, and a cell that stays as it is is left alone. */
test("laws", () => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const some = (): Cell[] => {
    const ids = ["a", "b", "c", "d", "e", "f"].filter(() => random(3) > 0).sort(() => random(3) - 1);
    return ids.map((id) => (random(4) === 0 ? words(id, `w${random(3)}`) : code(id, `s${random(3)}`, random(3) === 0 ? { outputs: OUT } : {})));
  };
  for (let round = 0; round < 3000; round++) {
    const [before, after] = [some(), some()];
    let made: Step[];
    try {
      made = steps(notebook(before), notebook(after));
    } catch (error) {
      assert.ok(error instanceof NotInCells && !before.some(({ outputs }) => outputs?.length));
      continue;
    }
    assert.deepEqual(carriedOut(before, made), after);
    assert.equal(new Set(made.map(({ kind }) => kind === "source")).size <= 1, true, "one history");
    for (const step of made) {
      if (step.kind === "source") assert.notEqual(sourceOf(before[step.index]!), sourceOf(step.cell));
    }
  }
});

function carriedOut(cells: readonly Cell[], made: readonly Step[]): Cell[] {
  const now = cells.map((cell): Cell[] => [cell]);
  const more: Cell[][] = Array.from({ length: cells.length + 1 }, () => []);
  for (const step of made) {
    if (step.kind === "source") now[step.index] = now[step.index]!.map((cell) => ({ ...cell, source: step.cell.source }));
    else if (step.kind === "metadata") now[step.index] = now[step.index]!.map((cell) => ({ ...step.cell, source: cell.source }));
    else if (step.kind === "replace") {
      for (let at = step.start; at < step.end; at++) now[at] = [];
      more[step.start]!.push(...step.cells.map(({ cell, outputsOf }) => (cell.cell_type === "code" ? { ...cell, outputs: outputsOf === undefined ? [] : cells[outputsOf]!.outputs! } : cell)));
    }
  }
  return more.flatMap((put, at) => [...put, ...(now[at] ?? [])]);
}
