// Runs the unit tests that esbuild.mjs --test has bundled. Node 20 knows no patterns here and Node 24 no folders, so files are named.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const files = readdirSync("dist/test", { recursive: true }).filter((name) => name.endsWith(".test.js"));
const named = files.map((name) => join("dist/test", name));
const { status } = spawnSync(process.execPath, ["--test", ...process.argv.slice(2), ...named], { stdio: "inherit" });
process.exit(status ?? 1);
