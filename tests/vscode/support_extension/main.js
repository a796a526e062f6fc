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

// A custom editor, to which text sync does not reach: `keep.blobs.change(path)` leaves an open one with unsaved changes.
function blobs() {
  const changed = new vscode.EventEmitter();
  const open = new Map();
  const nothing = () => undefined;
  keep.blobs = { change: (name) => changed.fire({ document: open.get(name), undo: nothing, redo: nothing }) };
  return vscode.window.registerCustomEditorProvider("test-support.blob", {
    onDidChangeCustomDocument: changed.event,
    openCustomDocument: (uri) => {
      const document = { uri, dispose: () => open.delete(uri.fsPath) };
      open.set(uri.fsPath, document);
      return document;
    },
    resolveCustomEditor: (_document, panel) => {
      panel.webview.html = "<p>A custom editor</p>";
    },
    saveCustomDocument: ({ uri }) => vscode.workspace.fs.writeFile(uri, Buffer.from("from the custom editor\n")),
    saveCustomDocumentAs: (_document, uri) => vscode.workspace.fs.writeFile(uri, Buffer.from("from the custom editor\n")),
    revertCustomDocument: async () => undefined,
    backupCustomDocument: async (_document, { destination }) => ({ id: destination.toString(), delete: nothing }),
  });
}

// Files that are on no disk: the folder test-support:/virtual with a.txt in it.
function virtual() {
  const file = Buffer.from("one\ntwo\n");
  const is = (type, size) => ({ type, size, ctime: 0, mtime: 0 });
  const refuse = (uri) => {
    throw vscode.FileSystemError.NoPermissions(uri);
  };
  return vscode.workspace.registerFileSystemProvider("test-support", {
    onDidChangeFile: new vscode.EventEmitter().event,
    watch: () => ({ dispose: () => undefined }),
    stat: (uri) => {
      if (uri.path === "/virtual/a.txt") return is(vscode.FileType.File, file.length);
      if (uri.path === "/virtual" || uri.path === "/") return is(vscode.FileType.Directory, 0);
      throw vscode.FileSystemError.FileNotFound(uri);
    },
    readDirectory: () => [["a.txt", vscode.FileType.File]],
    readFile: (uri) => (uri.path === "/virtual/a.txt" ? file : refuse(uri)),
    createDirectory: refuse,
    writeFile: refuse,
    delete: refuse,
    rename: refuse,
  });
}

exports.activate = (context) => {
  context.subscriptions.push(blobs(), virtual());
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
