import assert from "node:assert/strict";
import { test } from "node:test";
import { fields, linkKind, pickers, promptOf, promptWords, slashes } from "../../src/panel/host/acp";

const LINKS: [string, ReturnType<typeof linkKind>][] = [
  ["https://a.example", "web"],
  ["HTTP://a.example", "web"],
  ["mailto:me@a.example", "web"],
  ["file:///a", "file"],
  ["src/a.py:3", "file"],
  ["C:\\a.py", "file"],
  ["command:quit", "refused"],
  ["vscode://run", "refused"],
  ["javascript:1", "refused"],
  ["data:text/html,x", "refused"],
  ["//host/share", "refused"],
  ["#here", "refused"],
  ["", "refused"],
];
for (const [href, expected] of LINKS) {
  test(`links: ${href || "nothing"} is ${expected}`, () => assert.equal(linkKind(href), expected));
}

test("pickers: the mode of modes, or of an option that is one", () => {
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "A" }, { id: "b" }, null] };
  const model = { id: "m", name: "Model", category: "model", type: "select", currentValue: "x", options: [{ value: "x", name: "X" }] };
  const option = { id: "o", name: "Mode", category: "mode", type: "select", currentValue: "y", options: [{ group: "g", name: "G", options: [{ value: "y", name: "Y" }] }] };
  assert.deepEqual(pickers(modes, [model], "Mode").map((one) => [one.id, one.current, one.choices.length]), [["$mode", "a", 2], ["m", "x", 1]]);
  assert.deepEqual(pickers(modes, [model, option], "Mode").map((one) => one.id), ["o", "m"]);
  assert.deepEqual(pickers(null, [{ id: "b", type: "boolean", currentValue: true }], "Mode"), [
    { id: "b", label: "b", category: "other", current: "true", choices: [], toggle: true },
  ]);
  assert.deepEqual(pickers("?", { not: "a list" }, "Mode"), []);
});

test("slash commands", () => {
  const update = { availableCommands: [{ name: "/plan", description: "d", input: { hint: "h" } }, { name: "two words" }, {}, null] };
  assert.deepEqual(slashes(update), [{ name: "plan", description: "d", hint: "h" }]);
});

test("fields of a form", () => {
  const schema = {
    type: "object",
    required: ["a"],
    properties: {
      a: { type: "string", title: "A", description: "hint" },
      b: { type: "string", enum: ["x", "y"], enumNames: ["X"] },
      c: { type: "string", oneOf: [{ const: "x", title: "X" }] },
      d: { type: "integer", minimum: 1, default: 2 },
      e: { type: "boolean" },
      f: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } },
    },
  };
  assert.deepEqual(
    fields(schema).map((one) => [one.name, one.type, one.required, one.choices?.map((choice) => choice.label).join() ?? "", one.initial ?? ""]),
    [
      ["a", "text", true, "", ""],
      ["b", "choice", false, "X,y", ""],
      ["c", "choice", false, "X", ""],
      ["d", "integer", false, "", 2],
      ["e", "boolean", false, "", ""],
      ["f", "choices", false, "X", ""],
    ],
  );
  assert.deepEqual(fields(null), []);
});

test("a prompt: text first, selections quoted by a fence that they cannot end", () => {
  const selection = { id: "1", kind: "selection" as const, label: "a.md:1-2", uri: "file:///a.md#L1", range: { start: 1, end: 2 }, text: "```\nx\n```" };
  const blocks = promptOf("hi", [selection]);
  assert.deepEqual(blocks.map((one) => one["type"]), ["text", "resource_link", "text"]);
  assert.equal(blocks[2]!["text"], "file:///a.md#L1, lines 1–2:\n````\n```\nx\n```\n````");
  const back = promptWords(blocks);
  assert.equal(back.text, "hi");
  assert.deepEqual(back.attachments.map((one) => one.label), ["a.md:1-2"]);
});
