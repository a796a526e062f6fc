/** Real processes. */

import assert from "node:assert/strict";
import * as os from "node:os";
import { test } from "node:test";
import { ServerProcess } from "../../src/server/process";

const start = (script: string, log: (line: string) => void = () => undefined) =>
  ServerProcess.start({ program: process.execPath, args: ["-e", script] }, os.tmpdir(), { ACP_TEST: "told" }, log);

const MINUTE = 60_000;

test("a server that ends says how, and its last words are kept", async () => {
  const lines: string[] = [];
  const server = await start('console.error("first\\nlast words\\n\\n"); process.exitCode = 3', (line) => lines.push(line));
  await server.ended(MINUTE);
  assert.equal(server.ending, "exit code 3");
  assert.equal(server.lastWords, "last words");
  assert.deepEqual(lines.slice(0, 2), ["first", "last words"]);
});

test("its environment is the editor's and what the settings add", async () => {
  const server = await start("console.error(process.env.ACP_TEST, process.env.PATH !== undefined)");
  await server.ended(MINUTE);
  assert.equal(server.lastWords, "told true");
});

test("a server that ends when its input does", async () => {
  const server = await start("process.stdin.resume()");
  await server.end();
  assert.equal(server.ending, "exit code 0");
});

test("a server that was killed", { skip: process.platform === "win32" }, async () => {
  const server = await start('process.kill(process.pid, "SIGKILL")');
  await server.ended(MINUTE);
  assert.equal(server.ending, "ended by SIGKILL");
});

test("a program that is not there", async () => {
  await assert.rejects(
    () => ServerProcess.start({ program: "/does/not/exist", args: [] }, os.tmpdir(), {}, () => undefined),
    /ENOENT/,
  );
});
