// The same server with an ACP client of the TypeScript SDK in the process: agents read its documents.
//
//   bench/agent {command, args, cwd}    starts an agent and opens a session with it

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import { connection, documents } from "./lsp_server.mjs";

function read({ path, line, limit }) {
  const document = documents.get(pathToFileURL(path).href);
  if (!document) throw acp.RequestError.resourceNotFound(path);
  if (line == null && limit == null) return { content: document.getText() };
  const first = Math.max((line ?? 1) - 1, 0);
  const last = limit == null ? document.lineCount : first + limit;
  return {
    content: document.getText({
      start: { line: first, character: 0 },
      end: { line: last, character: 0 },
    }),
  };
}

connection.onRequest("bench/agent", async ({ command, args, cwd }) => {
  const child = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const agent = acp
    .client({ name: "bench" })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => read(params))
    .onRequest(acp.methods.client.fs.writeTextFile, () => ({}))
    .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))).agent;
  await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  });
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  return { sessionId };
});

