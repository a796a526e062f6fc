// What `make lint` asks of the TypeScript. typescript-eslint has no release for TypeScript 7 yet, so it reads the code with TypeScript 6
// (the package `typescript`); the types are checked with 7 (`typescript-7`, `npm run check`).
import eslint from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist/", "node_modules/", "src/**/*.d.ts"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [eslint.configs.recommended, tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: ["tsconfig.json", "src/panel/webview/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // `return call()` ends a case or a handler early
      "@typescript-eslint/no-confusing-void-expression": "off",
      // The compiler forgets that callbacks and awaits change variables, so it takes needed conditions for needless
      "@typescript-eslint/no-unnecessary-condition": "off",
      // `get<T>(name)` is the shape of VS Code's configuration
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      // noUncheckedIndexedAccess makes every index possibly undefined; `!` says where it is known to be there
      "@typescript-eslint/no-non-null-assertion": "off",
      // vscode.Disposable is a class by name and an interface by use
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", name: ["test", "it", "describe"], package: "node:test" }] },
      ],
      // Fakes answer as promises, whatever they do
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/restrict-template-expressions": "off",
      "@typescript-eslint/unbound-method": "off",
    },
  },
  { files: ["**/*.mjs"], extends: [eslint.configs.recommended], languageOptions: { globals: { process: "readonly", console: "readonly" } } },
);
