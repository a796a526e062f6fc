// Bundles the extension and the panel's page into dist/. --page=FOLDER: only the page, and what prints it, into that folder.
// --test: only the unit tests, into dist/test, with a stand-in for `vscode`. So the tests never touch what is being packed.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";

const flags = new Set(process.argv.slice(2));
const production = flags.has("--production");
const page = process.argv.find((one) => one.startsWith("--page="))?.slice("--page=".length);

// .py: the sample of Try it, as text
const shared = { bundle: true, loader: { ".ttf": "file", ".py": "text" }, logLevel: "warning", legalComments: "none", minify: production, sourcemap: !production };
const onNode = { ...shared, platform: "node", format: "cjs", target: "node22" };

const webview = {
  ...shared,
  platform: "browser",
  format: "iife",
  target: "es2023",
  entryPoints: { webview: "src/panel/webview/main.tsx" },
  outdir: page ?? "dist",
  assetNames: "[name]",
};
const bundles = page
  ? [webview, { ...onNode, target: "node20", entryPoints: ["test/panel/page.ts"], outfile: join(page, "page.js") }]
  : [webview, { ...onNode, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", external: ["vscode"] }];

if (flags.has("--test")) {
  bundles.length = 0;
  rmSync("dist/test", { recursive: true, force: true });
  bundles.push({
    ...onNode,
    target: "node20",
    sourcemap: "inline",
    entryPoints: readdirSync("test", { recursive: true })
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join("test", name)),
    outdir: "dist/test",
    outbase: "test",
    alias: { vscode: "./test/support/vscode.ts" },
  });
}

if (flags.has("--watch")) {
  for (const options of bundles) {
    await (await esbuild.context(options)).watch();
  }
} else {
  const built = await Promise.all(bundles.map((options) => esbuild.build({ ...options, metafile: true })));
  if (production) {
    writeFileSync("dist/ThirdPartyNotices.txt", notices(built.flatMap(({ metafile }) => Object.keys(metafile.inputs))));
  }
}

/** The licences of the packages that are in the bundles, which are to go wherever they go. */
function notices(inputs) {
  const packages = new Set(inputs.map((name) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]).filter(Boolean));
  const texts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    return [`${name} ${version} (${license})`, ...files.map((file) => readFileSync(join(folder, file), "utf8").trim())].join("\n\n");
  });
  return `This extension contains the following software by others, each under its own licence.\n\n${texts.join("\n\n----\n\n")}\n`;
}
