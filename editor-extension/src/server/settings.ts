/** The user's settings in the form that the server expects (`initializationOptions`), and those that only this extension reads. */

import type { ClientFlags } from "../lsp_ext";

export interface AgentCommand {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  fs?: boolean;
}

export interface Settings {
  readonly agents: Readonly<Record<string, AgentCommand>>;
  /** "" if none is chosen. */
  readonly defaultAgent: string;
  readonly writes: string;
  readonly afterWrite: string;
  readonly beforePrompt: string;
  readonly ownTools: string;
  /** In the server's own shape; the server checks it. */
  readonly mcpServers: Readonly<Record<string, unknown>>;
  readonly allowedRoots: readonly string[];
  readonly secretPatterns: readonly string[];
  readonly protectedPatterns: readonly string[];
  readonly maxFileBytes: number;
  /** A Python interpreter; "" to search for one. */
  readonly python: string;
  /** An `acp-sidecar` command to run instead of the bundled server; "" for the bundled one. */
  readonly serverPath: string;
  /** Environment variables of the server's process, in addition to the editor's own. */
  readonly env: Readonly<Record<string, string>>;
}

/** Settings that are passed on to the server, by the server's names. */
const FOR_THE_SERVER = [
  "agents",
  "defaultAgent",
  "writes",
  "afterWrite",
  "beforePrompt",
  "ownTools",
  "mcpServers",
  "allowedRoots",
  "secretPatterns",
  "protectedPatterns",
  "maxFileBytes",
] as const satisfies readonly (keyof Settings)[];

/** `get` is `WorkspaceConfiguration.get` of the section `acpSidecar`; package.json has the defaults. */
export function read(get: <T>(name: string) => T | undefined): Settings {
  return {
    agents: get<Settings["agents"]>("agents") ?? {},
    defaultAgent: get<string>("defaultAgent") ?? "",
    writes: get<string>("writes") ?? "review",
    afterWrite: get<string>("afterWrite") ?? "save-if-was-clean",
    beforePrompt: get<string>("beforePrompt") ?? "auto",
    ownTools: get<string>("ownTools") ?? "live",
    mcpServers: get<Settings["mcpServers"]>("mcpServers") ?? {},
    allowedRoots: get<string[]>("allowedRoots") ?? [],
    secretPatterns: get<string[]>("secretPatterns") ?? [],
    protectedPatterns: get<string[]>("protectedPatterns") ?? [],
    maxFileBytes: get<number>("maxFileBytes") ?? 10 * 1024 * 1024,
    python: get<string>("python") ?? "",
    serverPath: get<string>("serverPath") ?? "",
    env: get<Settings["env"]>("env") ?? {},
  };
}

/** The server's `initializationOptions`. Leaves out an empty `defaultAgent`, because the server would take it for a wrong name. */
export function initializationOptions(settings: Settings, flags: Partial<ClientFlags>): Record<string, unknown> {
  const options: Record<string, unknown> = { client: flags };
  for (const name of FOR_THE_SERVER) {
    if (settings[name] !== "") {
      options[name] = settings[name];
    }
  }
  return options;
}
