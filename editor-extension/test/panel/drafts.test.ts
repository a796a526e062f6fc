import assert from "node:assert/strict";
import { test } from "node:test";
import { keepDraft } from "../../src/panel/host/drafts";
import { Live } from "../../src/panel/host/live";
import { Memory } from "../../src/panel/host/memory";

const memory = () => new Memory({ keys: () => [], get: () => undefined, update: () => Promise.resolve() });
const written = (key: string, text: string) => ({ key, text, attachments: [] });

test("drafts: each is that of the conversation in which it was written, whatever is shown by now", () => {
  const [rain, sun, kept] = [new Live("rain", "a", "A"), new Live("sun", "a", "A"), memory()];
  keepDraft(kept, [rain, sun], rain, written("sun", "written before rain was shown"));
  keepDraft(kept, [rain, sun], rain, written("rain", "of rain"));
  assert.deepEqual(["rain", "sun"].map((id) => kept.draft(id).text), ["of rain", "written before rain was shown"]);
});

test("drafts: what was written on the start page goes along to the conversation that begins there", () => {
  const [live, kept] = [new Live("rain", "a", "A"), memory()];
  keepDraft(kept, [], null, written("", "half a thought"));
  kept.moveDraft("", live.id);
  keepDraft(kept, [live], live, written("", "half a thought")); // told late
  assert.deepEqual([kept.draft(null).text, kept.draft("rain").text], ["", "half a thought"]);
});

test("drafts: what was written in a conversation that is gone is nobody's", () => {
  const kept = memory();
  keepDraft(kept, [], null, written("gone", "half a thought"));
  assert.equal(kept.draft(null).text, "");
});
