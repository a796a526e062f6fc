// Leads pi's own read, edit and write to acp-sidecar, which it reaches through `acp-sidecar mcp`.
//
// The tools stay pi's: names, schemas, words, limits, pictures. Only the files that they work on are the sidecar's: pi's tools take the
// operations by which they read and write.
//
// Whenever the sidecar cannot be reached, and for files outside its folders, everything works on the disk.

import { constants } from "node:fs"
import { access, mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { createEditToolDefinition, createReadToolDefinition, createWriteToolDefinition } from "@earendil-works/pi-coding-agent"
import { DENIED, ELSEWHERE, door, refusal } from "./door.mjs"

const LED = { read: [createReadToolDefinition, reading], edit: [createEditToolDefinition, editing], write: [createWriteToolDefinition, writing] }

export default function acpSidecar(pi) {
  pi.on("tool_call", ({ toolName }) => {
    const reason = refusal(toolName)
    return reason && { block: true, reason }
  })
  // not before: pi does not start when two extensions have a tool of one name, and the user's own may have one of these
  pi.on("session_start", () => {
    const active = new Set(pi.getActiveTools())
    for (const { name, sourceInfo } of pi.getAllTools()) {
      if (LED[name] && active.has(name) && sourceInfo.source === "builtin") pi.registerTool(led(...LED[name]))
    }
  })
}

function led(create, operations) {
  const own = create(process.cwd())
  const execute = async (id, input, signal, update, ctx) => {
    const files = new Files(ctx.sessionManager.getSessionId())
    try {
      return await create(ctx.cwd, { operations: operations(files) }).execute(id, input, signal, update, ctx)
    } catch (error) {
      if (error !== ON_DISK) throw error
      return own.execute(id, input, signal, update, ctx)
    }
  }
  return { ...own, execute }
}

// What pi itself reads: pictures, and what is no text or not the sidecar's
const ON_DISK = new Error("not the sidecar's")

class Files {
  constructor(session) {
    this.session = session
  }

  ask(name, args) {
    return door.call(name, args, this.session)
  }

  // Undefined: pi works on the disk. Raises what pi is to say.
  async text(path, isOnDisk) {
    let answer = await this.ask("Read", { file_path: path })
    if (answer.kind === "unknown") answer = await this.ask("Read", { file_path: path }) // to read twice is harmless
    if (answer.error !== undefined && !isOnDisk(answer.kind)) throw new Error(answer.error)
    return answer.error !== undefined || answer.image ? undefined : answer.text
  }

  async write(path, content) {
    await this.change("Write", { file_path: path, content }, async () => {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, content)
    })
  }

  // Replaces text where it stands, whatever is typed elsewhere: what the model had read of the file before does not matter
  async edit(path, before, after) {
    await this.change("Edit", { file_path: path, ...difference(before, after) }, () => writeFile(path, after))
  }

  async change(name, args, onDisk) {
    const done = await this.ask(name, args)
    if (done.error === undefined) return
    if (!ELSEWHERE.includes(done.kind)) throw new Error(done.error)
    await onDisk()
  }
}

// The lines in which two texts differ, with lines around them until they stand only once in `before`
export function difference(before, after) {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  let same = 0 // at the end
  while (start < shorter && before[start] === after[start]) start += 1
  while (same < shorter - start && before.at(-1 - same) === after.at(-1 - same)) same += 1
  let end = before.length - same
  for (let lines = 1; ; lines *= 2) {
    for (let line = 0; line < lines; line += 1) {
      start = start > 1 ? before.lastIndexOf("\n", start - (line ? 2 : 1)) + 1 : 0
      end = before.indexOf("\n", end) + 1 || before.length
    }
    const old = before.slice(start, end)
    const isOnly = before.indexOf(old) === start && before.indexOf(old, start + 1) === -1
    if (isOnly || old === before) return { old_string: old, new_string: after.slice(start, after.length - (before.length - end)) }
  }
}

function reading(files) {
  let text
  return {
    access: async (path) => {
      text = await files.text(path, (kind) => !DENIED.includes(kind))
      if (text === undefined) throw ON_DISK
    },
    readFile: async () => Buffer.from(text),
  }
}

function editing(files) {
  let text
  return {
    access: async (path) => {
      text = await files.text(path, (kind) => ELSEWHERE.includes(kind))
      if (text === undefined) await access(path, constants.R_OK | constants.W_OK)
    },
    readFile: async (path) => (text === undefined ? readFile(path) : Buffer.from(text)),
    writeFile: (path, content) => (text === undefined ? writeFile(path, content) : files.edit(path, text, content)),
  }
}

function writing(files) {
  return {
    mkdir: async () => {}, // Write makes them
    writeFile: (path, content) => files.write(path, content),
  }
}
