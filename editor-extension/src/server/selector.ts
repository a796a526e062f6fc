/** The documents whose text the server has: files, and documents that have no file yet. */
export const synced = [{ scheme: "file" }, { scheme: "untitled" }];
