/** This machine, as the search for a Python sees it. */

import * as fs from "node:fs";
import * as os from "node:os";
import type { Machine } from "./candidates";

export const thisMachine: Machine = {
  platform: process.platform,
  env: process.env,
  home: os.homedir(),
  isFile(name) {
    try {
      return fs.statSync(name).isFile();
    } catch {
      return false;
    }
  },
  realPath(name) {
    try {
      return fs.realpathSync.native(name);
    } catch {
      return undefined;
    }
  },
  list(folder) {
    try {
      return fs.readdirSync(folder);
    } catch {
      return [];
    }
  },
};
