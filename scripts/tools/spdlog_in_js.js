// Takes the place of VS Code's native module @vscode/spdlog, which is not built for the tests: without it the workbench logs
// nothing, and output channels of the kind with levels stay empty. Same interface; files do not rotate.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

class Logger {
  constructor(_kind, _name, file) {
    this.file = file;
    this.level = 0;
    this.pattern = "";
  }
  write(level, name, message) {
    if (level < this.level) return;
    const time = new Date().toISOString().replace("T", " ").slice(0, 23);
    fs.appendFileSync(this.file, this.pattern === null ? message : `${time} [${name}] ${message}\n`);
  }
  trace(message) {
    this.write(0, "trace", message);
  }
  debug(message) {
    this.write(1, "debug", message);
  }
  info(message) {
    this.write(2, "info", message);
  }
  warn(message) {
    this.write(3, "warning", message);
  }
  error(message) {
    this.write(4, "error", message);
  }
  critical(message) {
    this.write(5, "critical", message);
  }
  getLevel() {
    return this.level;
  }
  setLevel(level) {
    this.level = level;
  }
  setPattern(pattern) {
    this.pattern = pattern;
  }
  clearFormatters() {
    this.pattern = null; // only what was said, no line end of its own
  }
  flush() {}
  drop() {}
}

async function create(name, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  return new Logger("", name, file);
}

exports.version = 0;
exports.setLevel = () => undefined;
exports.setFlushOn = () => undefined;
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
