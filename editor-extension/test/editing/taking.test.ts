import assert from "node:assert/strict";
import { test } from "node:test";
import { Taking } from "../../src/editing/taking";

/**
 * As the workbench tells it. "D" is the disk's text; every other letter is a key, a capital one as it is told where there was no unsaved text
 * until then. "." and "!" are changes of nothing, after which there is none or some.
 */
const CASES: [was: "dirty" | "clean", told: string, replaced: string | null, since: string][] = [
  ["dirty", "D.", "mine", ""],
  ["dirty", "xD.", "minex", ""],
  ["dirty", "D.Y!z", "mine", "Yz"],
  ["dirty", "xxD.Y!", "minexx", "Y"],
  ["dirty", ".", "mine", ""], // the disk says the same
  ["dirty", "x.", "minex", ""],
  ["dirty", "K!", null, ""], // typed while the file was read: the document is left alone
  ["dirty", "xK!x!x", null, ""],
  ["dirty", "", null, ""], // another editor was active
  ["clean", "D", "mine", ""],
  ["clean", "", "mine", ""],
  ["clean", "DY!", "mine", "Y"],
  ["clean", "K!", null, ""],
  ["clean", "K!xD.", "mineKx", ""],
];

for (const [was, told, replaced, since] of CASES) {
  test(`taking: ${was}, ${told || "nothing"}`, () => {
    let text = "mine";
    let version = 7;
    let taken = 0;
    const taking = new Taking(text, was === "dirty", text.length);
    for (const char of told) {
      if (".!".includes(char)) {
        taking.tell({ edits: [], isDirty: char === "!", version, text });
        continue;
      }
      const edit = { start: text.length, end: text.length, text: char };
      text = char === "D" ? "disk" : text + char;
      version++;
      taken = char === "D" ? version : taken;
      taking.tell({ edits: [edit], isDirty: char !== char.toUpperCase(), version, text });
    }
    const found = taking.end(version);
    assert.equal(found?.replaced ?? null, replaced);
    assert.equal(found?.since.map((one) => one.text).join("") ?? "", since);
    if (found !== undefined && told.includes("D")) {
      assert.equal(found.text, "disk");
      assert.equal(found.version, taken);
    }
  });
}
