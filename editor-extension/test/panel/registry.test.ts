import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, registry, shown, type RegistryAgent } from "../../src/panel/host/registry";

const entry = (distribution: RegistryAgent["distribution"]): RegistryAgent => ({ id: "x", name: "X", version: "1.2.3", description: "", distribution });

test("registry: every agent of the snapshot is started by a command that names its version", () => {
  assert.ok(registry.length >= 5);
  assert.equal(new Set(registry.map((one) => one.id)).size, registry.length);
  for (const agent of registry) {
    const command = commandOf(agent);
    assert.ok(command, agent.id);
    assert.ok((command.args ?? []).some((one) => one.endsWith(`@${agent.version}`) || one.endsWith(`==${agent.version}`)), shown(command));
  }
});

for (const [name, distribution, words] of [
  ["npx", { npx: { package: "@scope/agent" } }, "npx --yes @scope/agent@1.2.3"],
  ["npx with a program", { npx: { package: "agent", cmd: "agent-acp", args: ["acp"] } }, "npx --yes --package agent@1.2.3 agent-acp acp"],
  ["npx, pinned already", { npx: { package: "agent@9.9.9" } }, "npx --yes agent@9.9.9"],
  ["uvx", { uvx: { package: "agent" } }, "uvx agent==1.2.3"],
  ["uvx with a program", { uvx: { package: "agent", cmd: "agent-acp" } }, "uvx --from agent==1.2.3 agent-acp"],
  ["an argument with quotes", { npx: { package: "agent", args: ["--say", `it's "5"`] } }, String.raw`npx --yes agent@1.2.3 --say 'it'\''s "5"'`],
  ["variables", { npx: { package: "agent", env: { KEY: "secret" } } }, "KEY=… npx --yes agent@1.2.3"],
] as const) {
  test(`registry: ${name}`, () => {
    const command = commandOf(entry(distribution as RegistryAgent["distribution"]));
    assert.ok(command);
    assert.equal(shown(command), words);
  });
}

test("registry: a kind that is not installed from here has no command", () => assert.equal(commandOf(entry({})), undefined));
