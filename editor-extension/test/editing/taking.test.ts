import assert from "node:assert/strict";
import { test } from "node:test";
import { replacement } from "../../src/editing/replacements";
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

/** Where an edit of ours ("E") brings in the disk's text before the workbench is asked. "R" is a reload that throws away what was typed since, "O" one
 * of another text. Other capital letters are keys that are pressed while the file is read. */
const LED: [told: string, replaced: string | null, lost: string, since: string, isReloaded: boolean][] = [
  ["E.", "mine", "", "", true],
  ["xE.", "minex", "", "", true],
  ["E.y!z", "mine", "", "yz", true],
  ["EkR.", "mine", "k", "", true],
  ["EkR.y!", "mine", "k", "y", true],
  ["E", "mine", "", "", false], // another editor was active
  ["Ek!", "mine", "", "k", false], // typed while the file was read
  ["EO.", "mine", "", "", true], // the file says something else by now
  ["EkO.y!", "mine", "k", "y", true],
  ["Ek.", "mine", "", "k", true], // saved by the user
  ["EK!.", "mine", "", "K", true],
  ["EK!xY!R.z", "mine", "KxY", "z", true], // reloaded at the third try
  ["x", null, "", "", true], // our edit was refused, and then nothing was reloaded
];

for (const [told, replaced, lost, since, isReloaded] of LED) {
  test(`taking, with an edit of ours first: ${told}`, () => {
    let text = "mine";
    let version = 7;
    let read = 0;
    const taking = new Taking(text, true, text.length);
    taking.leads("disk", 4);
    for (const char of told) {
      if (".!".includes(char)) {
        taking.tell({ edits: [], isDirty: char === "!", version, text });
        continue;
      }
      const edit = { start: text.length, end: text.length, text: char };
      text = "ER".includes(char) ? "disk" : char === "O" ? "other" : text + char;
      version++;
      read = "ERO".includes(char) ? version : read;
      taking.tell({ edits: [edit], isDirty: char === "E" || char !== char.toUpperCase(), version, text });
    }
    const found = taking.end(version);
    assert.equal(found?.replaced ?? null, replaced);
    assert.equal(found?.lost.map((one) => one.text).join("") ?? "", lost);
    assert.equal(found?.since.map((one) => one.text).join("") ?? "", since);
    assert.equal(found?.isReloaded ?? true, isReloaded);
    if (found !== undefined) {
      assert.equal(found.text, told.includes("O") ? "other" : "disk");
      assert.equal(found.read, read);
      assert.equal(found.led.text, "disk");
      assert.equal(found.version, told.startsWith("x") ? 9 : 8);
    }
  });
}

test("taking: what is typed behind the text until the cursor is back belongs in front of what is typed then", () => {
  const taking = new Taking("mine", true, 4);
  taking.leads("disk", 4);
  taking.tell({ edits: [{ start: 0, end: 4, text: "disk" }], isDirty: true, version: 8, text: "disk" });
  taking.tell({ edits: [], isDirty: false, version: 8, text: "disk" });
  assert.ok(taking.end(8));
  let text = "disk\nmine\nend";
  taking.makes(text);
  taking.tell({ edits: [{ start: 4, end: 4, text: "\nmine\nend" }], isDirty: true, version: 9, text });
  const landed = { text, caret: text.length };
  const meant = { text, caret: 9 };
  const type = (start: number, key: string): void => {
    text = text.slice(0, start) + key + text.slice(start);
    taking.tell({ edits: [{ start, end: start, text: key }], isDirty: true, version: 9, text });
  };
  void taking.puts(9);
  type(13, "a");
  taking.place(14, true);
  type(14, "b");
  taking.place(9, true); // what an extension does is told like a command
  type(9, "c");
  type(10, "d");
  assert.deepEqual(taking.goneOn(meant, landed), {
    here: { text: "disk\nminecd\nendab", caret: 11 },
    wanted: { text: "disk\nmineabcd\nend", caret: 13 },
  });
});

/** "D": the document says the disk's text, "M": what it said before that; every other letter is a key. The last of them is the user's undo or redo. */
const TAKEN_BACK: [told: string, here: string, wanted: string][] = [
  ["", "end", "mine\nend"],
  ["M", "mine\nend", "mine\nend"],
  ["Mk", "mine\nendk", "mine\nendk"],
  ["kM", "mine\nend", "mine\nend"],
  ["MD", "end", "mine\nend"], // and redone
  ["MDk", "endk", "mine\nendk"],
];

for (const isLed of [true, false]) {
  for (const [told, here, wanted] of TAKEN_BACK) {
    test(`taking, ${isLed ? "with" : "without"} an edit of ours first: the user goes on with "${told}"`, () => {
      const taking = new Taking("mine\nend", true, 0);
      let text = "mine\nend";
      const says = (now: string, isDirty: boolean): void => {
        const edits = now === text ? [] : [replacement(text, now)];
        text = now;
        taking.tell({ edits, isDirty, version: 8, text });
      };
      if (isLed) {
        taking.leads("end", 0);
      }
      says("end", isLed);
      says("end", false);
      assert.ok(taking.end(8));
      for (const char of told) {
        says(char === "M" ? "mine\nend" : char === "D" ? "end" : text + char, true);
      }
      const goneOn = taking.goneOn({ text: "mine\nend", caret: 0 }, { text: "end", caret: 0 });
      assert.equal(goneOn.here.text, here);
      assert.equal(goneOn.wanted.text, wanted);
    });
  }
}

for (const [caret, landed] of [[0, 4], [2, 4], [4, 4], [6, 6]] as const) {
  test(`taking: a reload of the first four characters throws the cursor from ${caret} to ${landed}`, () => {
    const edits = [{ start: 0, end: 4, text: "disk" }];
    const clean = new Taking("mine\nend", false, caret);
    clean.tell({ edits, isDirty: false, version: 8, text: "disk\nend" });
    assert.equal(clean.end(8)?.landed, landed);
    const led = new Taking("mine\nend", true, caret);
    led.leads("more\nend", caret);
    led.tell({ edits: [{ start: 0, end: 4, text: "more" }], isDirty: true, version: 8, text: "more\nend" });
    led.tell({ edits, isDirty: false, version: 9, text: "disk\nend" });
    led.tell({ edits: [], isDirty: false, version: 9, text: "disk\nend" });
    assert.equal(led.end(9)?.landed, landed);
  });
}

/** The cursor after the reload ("D", which the workbench has it go to the end with): "k" is a key there, digits are places it is told at. */
const PLACED: [told: string, isPlaced: boolean][] = [
  ["D.", false],
  ["D4.", false], // where the workbench has thrown it
  ["D.k5", false], // behind what is typed
  ["D.u2", true],
  ["D.ku2", true],
  ["u2D.", false], // before it
];

for (const [told, isPlaced] of PLACED) {
  test(`taking, the cursor is placed: ${told}`, () => {
    let text = "mine";
    let isUsers = false;
    const taking = new Taking(text, true, text.length);
    for (const char of told) {
      if (char === "u") {
        isUsers = true;
      } else if (/\d/.test(char)) {
        taking.place(Number(char), isUsers || char === "5");
      } else {
        const edits = char === "." ? [] : [char === "D" ? { start: 0, end: 4, text: "disk" } : { start: 4, end: 4, text: char }];
        text = char === "D" ? "disk" : edits.length > 0 ? text + char : text;
        taking.tell({ edits, isDirty: char === "k", version: 8, text });
      }
    }
    assert.equal(taking.end(8) !== undefined && taking.isPlaced, isPlaced);
  });
}
