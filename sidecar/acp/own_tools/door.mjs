// Door: the way from an agent's own tools to acp-sidecar, through one `acp-sidecar mcp` that is started at the first call and again when it
// has died.

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const SERVER = process.env.ACP_SIDECAR_TOOLS && JSON.parse(process.env.ACP_SIDECAR_TOOLS)
delete process.env.ACP_SIDECAR_TOOLS // it has the token, and commands that the agent runs inherit the environment

const MOST_STARTS = 3
const SHUT = "no_sidecar"
const LOST = "acp-sidecar's tools ended meanwhile. Read the file to see what it says now."

// Where agents may only read: the tools that do no more than that, of opencode, Kilo and pi, and of ours beside them. Any other is refused, also
// one that a newer version brings, or an MCP server of the user's: what it does is not known here. task starts sub-agents, whose calls come here too.
const OWN = ["codesearch", "find", "glob", "grep", "invalid", "kilo_local_recall", "list", "ls", "lsp", "question", "read", "skill", "task"]
const MORE = ["todoread", "todowrite", "webfetch", "websearch"]
const OURS = ["Changes", "Diagnostics", "Glob", "ListFolder", "OpenDocuments", "Read", "ReadBytes", "ReadMany", "Search", "Selection", "Watch"]
const READING = new Set([...OWN, ...MORE, ...OURS.map((name) => `sidecar_${name}`)])
const READ_ONLY = process.env.ACP_SIDECAR_READ_ONLY !== undefined
export const refusal = (tool) =>
  READ_ONLY && !READING.has(tool) ? "Changing files and running commands is switched off by the user's settings." : undefined

// Of an answer's error: the user lets nobody read or change the file; the file is not the sidecar's, so the agent works on the disk
export const DENIED = ["denied_by_user", "denied_by_policy"]
export const ELSEWHERE = [SHUT, "path_outside_workspace", "symlink_escape"]

class Door {
  starts = 0
  number = 0
  waiting = new Map()

  open() {
    if (this.process || !SERVER || this.starts === MOST_STARTS) return this.process
    this.starts += 1
    const child = spawn(SERVER.command, SERVER.args, {
      env: { ...process.env, ...SERVER.env },
      stdio: ["pipe", "pipe", "ignore"],
    })
    const ended = () => {
      if (this.process !== child) return
      this.process = undefined
      for (const answered of this.waiting.values()) answered({ lost: true })
      this.waiting.clear()
    }
    child.on("error", ended)
    child.on("exit", ended)
    child.stdin.on("error", ended)
    createInterface({ input: child.stdout }).on("line", (line) => this.heard(JSON.parse(line)))
    this.process = child
    this.greeted = false
    const clientInfo = { name: "plugin", version: "1" }
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }
    this.ask("initialize", params).then((answer) => (this.greeted = !answer?.lost))
    this.send({ method: "notifications/initialized" })
    return child
  }

  heard(message) {
    this.waiting.get(message.id)?.(message.result ?? { lost: true })
    this.waiting.delete(message.id)
  }

  send(message) {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  }

  ask(method, params) {
    const id = ++this.number
    return new Promise((answered) => {
      this.waiting.set(id, answered)
      this.send({ id, method, params })
    })
  }

  // {text} | {image} | {error, kind}; kind "no_sidecar": nothing was done, "unknown": perhaps it was
  async call(name, args, session) {
    if (!this.open()) return { error: "", kind: SHUT }
    const result = await this.ask("tools/call", {
      name,
      arguments: args,
      _meta: { "acp-sidecar/session": session },
    })
    if (result.lost && !this.greeted) return { error: "", kind: SHUT } // it answers in order
    if (result.lost) return { error: LOST, kind: "unknown" }
    const text = result.content.map((block) => block.text ?? "").join("")
    return result.isError ? { error: text, kind: result.structuredContent?.errorKind } : { text, image: !text && result.content[0]?.type === "image" }
  }
}

// Agents may load their plugins anew; the variable is gone by then
export const door = (globalThis[Symbol.for("acp-sidecar.door")] ??= new Door())
