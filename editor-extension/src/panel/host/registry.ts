/**
 * Agents to choose from, in the format of the public ACP registry. The list is a file of this extension, so looking at
 * it sends no request. Adding an agent stores a command with its version; nothing is downloaded until the agent first
 * starts.
 */

import * as v from "valibot";
import type { AgentCommand } from "../../server/settings";
import { lineOf } from "../shell";
import bundled from "./registry.json";

const Package = v.object({
  package: v.string(),
  cmd: v.optional(v.string()),
  args: v.optional(v.array(v.string())),
  env: v.optional(v.record(v.string(), v.string())),
});
const Entry = v.object({
  id: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]*$/)),
  name: v.string(),
  version: v.string(),
  description: v.string(),
  website: v.optional(v.string()),
  license: v.optional(v.string()),
  distribution: v.object({ npx: v.optional(Package), uvx: v.optional(Package) }),
});
const Registry = v.object({ version: v.string(), agents: v.array(Entry) });

export type RegistryAgent = v.InferOutput<typeof Entry>;

export const registry: readonly RegistryAgent[] = v.parse(Registry, bundled).agents;

/** The command that starts the entry, version included. Undefined for kinds that this extension does not install. */
export function commandOf(agent: RegistryAgent): AgentCommand | undefined {
  const { npx, uvx } = agent.distribution;
  if (npx) {
    const pinned = versioned(npx.package, agent.version, "@");
    const run = npx.cmd === undefined ? [pinned] : ["--package", pinned, npx.cmd];
    return { command: "npx", args: ["--yes", ...run, ...(npx.args ?? [])], ...(npx.env ? { env: npx.env } : {}) };
  }
  if (uvx) {
    const pinned = versioned(uvx.package, agent.version, "==");
    const run = uvx.cmd === undefined ? [pinned] : ["--from", pinned, uvx.cmd];
    return { command: "uvx", args: [...run, ...(uvx.args ?? [])], ...(uvx.env ? { env: uvx.env } : {}) };
  }
  return undefined;
}

/** Keeps the version of a package that already names one. */
function versioned(name: string, version: string, sign: string): string {
  return name.slice(1).includes(sign[0]!) ? name : `${name}${sign}${version}`;
}

export function shown({ command, args, env }: AgentCommand): string {
  const set = Object.keys(env ?? {}).map((name) => `${name}=…`);
  return [...set, lineOf([command, ...(args ?? [])])].join(" ");
}
