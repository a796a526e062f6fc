// Leads opencode's own read, edit and write to acp-sidecar, which it reaches through `acp-sidecar mcp`; and Kilo's, which is made of it.
//
// read stays opencode's: it checks permissions, lists folders and shows images; only the text in its answer is replaced by the text of the
// moment. edit and write are replaced. Their names, descriptions and schemas stay those that the model knows.
//
// Whenever the sidecar cannot be reached, and for files outside its folders, everything works on the disk.

import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname, isAbsolute, relative, resolve } from "node:path"
import { DENIED, ELSEWHERE, door, refusal } from "./door.mjs"

const LINES = 2000 // what opencode's own read shows at most: lines, code units of a line, code units altogether
const LINE = 2000
const TEXT = 50 * 1024
const OURS = "leads to acp-sidecar"

export const AcpSidecar = async ({ client }) => {
  door.open()
  const roots = new Map()
  const shown = new Map()
  const own = new Map()

  // a sub-agent's session has a parent; the sidecar knows the one without
  async function root(id) {
    if (!roots.has(id)) {
      const parent = (await client.session.get({ path: { id } })).data?.parentID
      roots.set(id, parent ? await root(parent) : id)
    }
    return roots.get(id)
  }

  async function change(name, args, given, ctx, onDisk) {
    const path = resolve(ctx.directory, args.filePath)
    await ctx.ask({ permission: "edit", patterns: [relative(ctx.worktree, path)], always: ["*"], metadata: { filepath: path } })
    const done = await door.call(name, { file_path: path, ...given }, await root(ctx.sessionID))
    const title = relative(ctx.worktree, path)
    if (done.error === undefined) return { title, output: done.text }
    if (!ELSEWHERE.includes(done.kind)) throw new Error(WORDS[done.kind] ?? done.error)
    if (isOutside(ctx, path)) {
      const pattern = `${dirname(path)}/*`
      const metadata = { filepath: path, parentDir: dirname(path) }
      await ctx.ask({ permission: "external_directory", patterns: [pattern], always: [pattern], metadata })
    }
    return { title, output: await onDisk(path) }
  }

  return {
    // the model is shown what it knows: of two tools with one name, opencode's own comes first
    "tool.definition": async ({ toolID }, output) => {
      if (output.description !== OURS) own.set(toolID, { ...output })
      else if (own.has(toolID)) Object.assign(output, own.get(toolID))
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const refused = refusal(tool)
      if (refused) throw new Error(refused)
      if (tool !== "read" || typeof args.filePath !== "string") return
      const offset = args.offset || 1
      const limit = Math.min(args.limit ?? LINES, LINES)
      const part = { file_path: args.filePath, offset, limit: limit + 1 }
      const answer = await door.call("Read", part, await root(sessionID))
      if (DENIED.includes(answer.kind)) throw new Error(answer.error)
      if (answer.error !== undefined || answer.image) return
      shown.set(callID, shownLines(answer.text, offset, limit))
      Object.assign(args, { offset: 1, limit: 1 }) // lines that only the editor has would be "out of range"
    },

    "tool.execute.after": async ({ tool, callID }, output) => {
      const text = shown.get(callID)
      shown.delete(callID)
      if (tool !== "read" || text === undefined || !output.output.includes("<type>file</type>")) return
      const [start, end] = ["<content>\n", "\n</content>"]
      const from = output.output.indexOf(start) + start.length
      output.output = output.output.slice(0, from) + text + output.output.slice(output.output.indexOf(end, from - 1))
      output.metadata = { ...output.metadata, preview: text, display: undefined }
    },

    tool: {
      edit: {
        description: OURS,
        args: { filePath: STRING, oldString: STRING, newString: STRING, replaceAll: { type: "boolean" } },
        execute: (args, ctx) => {
          const given = { old_string: args.oldString, new_string: args.newString, replace_all: args.replaceAll ?? false }
          return change("Edit", args, given, ctx, (path) => editOnDisk(path, args))
        },
      },
      write: {
        description: OURS,
        args: { filePath: STRING, content: STRING },
        execute: (args, ctx) => change("Write", args, { content: args.content }, ctx, (path) => writeOnDisk(path, args.content)),
      },
    },
  }
}

const STRING = { type: "string" }

// as opencode's own tools say it
const WORDS = {
  no_match: "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.",
  several_matches: "Found multiple matches for oldString. Provide more surrounding context to make the match unique.",
}

// At most `limit` lines, numbered, and what opencode says after them. `text` has one more line when there are more.
function shownLines(text, first, limit) {
  const lines = text.split(/\r\n|\r|\n/)
  if (lines.at(-1) === "") lines.pop()
  const out = []
  let size = 0
  for (const line of lines.slice(0, limit)) {
    const one = `${first + out.length}: ${line.length > LINE ? `${line.slice(0, LINE)}... (line truncated to ${LINE} chars)` : line}`
    size += one.length + 1
    if (out.length > 0 && size > TEXT) break
    out.push(one)
  }
  const next = first + out.length
  const rest =
    out.length < lines.length
      ? `(Showing lines ${first}-${next - 1}. Use offset=${next} to continue.)`
      : `(End of file - total ${next - 1} lines)`
  return `${out.join("\n")}\n\n${rest}`
}

function isOutside(ctx, path) {
  return [ctx.directory, ctx.worktree].every((folder) => {
    const way = relative(folder, path)
    return folder === "/" || way.startsWith("..") || isAbsolute(way)
  })
}

async function editOnDisk(path, { oldString, newString, replaceAll }) {
  if (oldString === "") return writeOnDisk(path, newString, "wx")
  const text = await readFile(path, "utf8")
  const crlf = text.includes("\r\n") && !oldString.includes("\r\n")
  const [old, put] = crlf ? [oldString, newString].map((one) => one.replaceAll("\n", "\r\n")) : [oldString, newString]
  const parts = text.split(old)
  if (parts.length === 1) throw new Error(WORDS.no_match)
  if (parts.length > 2 && !replaceAll) throw new Error(WORDS.several_matches)
  await writeFile(path, parts.join(put))
  return "Edit applied successfully."
}

async function writeOnDisk(path, content, flag = "w") {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content, { flag })
  return "Wrote file successfully."
}
