/** Merges the middleware of several parts. */

import type { Middleware } from "vscode-languageclient/node";

type Table = Record<string, unknown>;

/** One table of all hooks. Two parts may not use the same hook, because neither would know of the other. */
export function merge(all: readonly Middleware[]): Middleware {
  return all.reduce<Table>((merged, one) => mergeInto(merged, one as Table, ""), {});
}

function mergeInto(into: Table, from: Table, prefix: string): Table {
  for (const [name, value] of Object.entries(from)) {
    const there = into[name];
    if (typeof value === "object" && value !== null) {
      into[name] = mergeInto((there as Table | undefined) ?? {}, value as Table, `${prefix}${name}.`);
    } else if (there !== undefined) {
      throw new Error(`two parts take the middleware hook ${prefix}${name}`);
    } else {
      into[name] = value;
    }
  }
  return into;
}
