// A window's extension host answers on a unix socket in the folder that the tests name: {body, args} is run as an async
// function with `vscode`, `args`, `require` and `keep` (an object that lasts as long as the window).
const http = require("node:http");
const path = require("node:path");
const vscode = require("vscode");

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
const keep = {};

async function answer({ body, args }) {
  try {
    const value = await new AsyncFunction("vscode", "args", "require", "keep", body)(vscode, args, require, keep);
    return { value };
  } catch (error) {
    return { error: String((error && error.stack) || error) };
  }
}

exports.activate = (context) => {
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      const said = await answer(JSON.parse(Buffer.concat(parts).toString("utf8")));
      response.end(JSON.stringify(said));
    });
  });
  server.listen(path.join(process.env.ACP_TEST_SOCKETS, `host-${process.pid}.sock`));
  context.subscriptions.push({ dispose: () => server.close() });
};
