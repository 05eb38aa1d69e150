import { constants, accessSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { EXIT, CommandError } from "../exit-codes.ts";

/** Frequent commands of shells that are no programs. */
const SHELL_WORDS: ReadonlySet<string> = new Set([
  ".",
  "alias",
  "cd",
  "eval",
  "exec",
  "export",
  "set",
  "source",
  "ulimit",
  "umask",
]);

/**
 * Finds a program as a shell does, and returns its path.
 * @throws {CommandError} with a shell's exit codes: 127 if there is no such file, 126 if the file cannot be executed.
 */
export function commandPath(name: string, searched: string | undefined = process.env["PATH"]): string {
  const folders = (searched ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter);
  const paths = name.includes("/") ? [name] : folders.map((folder) => join(folder === "" ? "." : folder, name));
  let found: string | undefined;
  for (const path of name === "" ? [] : paths) {
    const kind = kindOf(path);
    // A folder of the search that this process may not enter says nothing about the program. A shell skips it.
    if (kind === "hidden" && !name.includes("/")) continue;
    if (kind === "program") return path.includes("/") ? path : `./${path}`;
    if (kind !== "none") found ??= path;
  }
  if (found !== undefined) throw new CommandError(EXIT.notExecutable, `${found} cannot be executed.`);
  throw new CommandError(EXIT.notFound, `${name === "" ? "the command is empty" : `${name} was not found`}.${hintFor(name)}`);
}

/** Returns the remedy for text that only a shell understands. */
function hintFor(name: string): string {
  const needsShell = /\s/.test(name) || /^\w+=/.test(name) || SHELL_WORDS.has(name);
  return needsShell ? " No shell runs the command; to have one, say: sh -c '…'." : "";
}

/** Reports whether there is a file at a path that this process may execute. */
export function isProgram(path: string): boolean {
  return kindOf(path) === "program";
}

/** Returns what is at a path: `hidden` if this process may not enter a folder on the way. */
function kindOf(path: string): "program" | "other" | "hidden" | "none" {
  let isThere = false;
  try {
    if (statSync(path).isDirectory()) return "other";
    isThere = true;
    accessSync(path, constants.X_OK);
    return "program";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") return "none";
    return isThere ? "other" : "hidden";
  }
}
