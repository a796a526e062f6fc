/** Prints the panel's page as VS Code gets it: `node page.js ORIGIN`. Scripts and styles are of that origin. */

import { html } from "../../src/panel/host/html";

const origin = process.argv[2] ?? "";
process.stdout.write(html({ script: `${origin}/webview.js`, style: `${origin}/webview.css`, csp: origin, nonce: "n0nce", language: "en" }));
