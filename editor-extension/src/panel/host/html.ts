/** The page of the webview. It loads only our own script, style and icons, sends nothing anywhere, and shows only inline images. */

export interface Sources {
  script: string;
  style: string;
  /** From `webview.cspSource`: the origin of the style and the icons. */
  csp: string;
  nonce: string;
  language: string;
}

export function html({ script, style, csp, nonce, language }: Sources): string {
  const policy = [
    "default-src 'none'",
    "img-src data:",
    `font-src ${csp}`,
    `style-src ${csp}`,
    `script-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${escaped(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ACP Sidecar</title>
<link rel="stylesheet" href="${escaped(style)}">
</head>
<body>
<main id="app"></main>
<script nonce="${escaped(nonce)}" src="${escaped(script)}"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
}
