import assert from "node:assert/strict";
import { test } from "node:test";
import { mismatch } from "../../src/server/handshake";

/** [server, own version, what is said] */
const CASES: [{ name: string; version?: string } | undefined, string, RegExp | undefined][] = [
  [{ name: "acp-sidecar", version: "0.1.0" }, "0.1.0", undefined],
  [{ name: "acp-sidecar", version: "0.1.9" }, "0.1.0", undefined],
  [{ name: "acp-sidecar", version: "0.2.0" }, "0.1.0", /^\/x is acp-sidecar 0\.2\.0, but this extension needs 0\.1\.0\. Update/],
  [{ name: "acp-sidecar", version: "1.4.0" }, "1.0.0", undefined],
  [{ name: "acp-sidecar", version: "2.0.0" }, "1.9.0", /2\.0\.0/],
  [{ name: "acp-sidecar" }, "0.1.0", /acp-sidecar \?/],
  [{ name: "pylsp", version: "0.1.0" }, "0.1.0", /^\/x is not acp-sidecar\. Check the setting acpSidecar\.serverPath\.$/],
  [undefined, "0.1.0", /is not acp-sidecar/],
];

for (const [told, own, expected] of CASES) {
  test(`handshake: ${JSON.stringify(told)} with ${own}`, () => {
    const said = mismatch(told, own, "/x");
    if (expected === undefined) {
      assert.equal(said, undefined);
    } else {
      assert.match(said ?? "", expected);
    }
  });
}
