import { OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";
import { ReplacedFileError } from "./sqlite-files.ts";

/** SQLite's primary result codes. https://www.sqlite.org/rescode.html */
const CODES = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  FULL: 13,
  CANTOPEN: 14,
  AUTH: 23,
  NOTADB: 26,
} as const;
const { ERROR, PERM, BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN, AUTH, NOTADB } = CODES;

const NO_DATABASE = " What is there is something else, which stays as it is: give the store another path.";

/**
 * Returns the meaning of an error of `node:sqlite`. A statement that fails has changed nothing, except after an error of the
 * disk. The failed write may be the last one of a commit, so that its outcome is unknown.
 */
export function sqliteMeaning(error: unknown): Meaning | undefined {
  if (error instanceof ReplacedFileError) return { code: "STORE_UNAVAILABLE", notApplied: true, advice: "" };
  const { errcode, code: name, message } = (error ?? {}) as Partial<Record<"errcode" | "code" | "message", unknown>>;
  // The low byte of the extended code is the primary code. Other libraries give the name of the code instead.
  const code = typeof errcode === "number" ? errcode & 0xff : codeOf(String(name));
  if (code === undefined) return undefined;
  if (code === BUSY || code === LOCKED) return { code: "STORE_CONFLICT", notApplied: true };
  const advice = " The file's folder must exist, and this process must be allowed to write to it.";
  if (code === READONLY)
    return { code: "STORE_DENIED", notApplied: true, advice: `${advice} A handle must not be opened as read-only.` };
  if (code === PERM || code === AUTH) return { code: "STORE_DENIED", notApplied: true, advice };
  if (code === CANTOPEN) return { code: "STORE_MISSING", notApplied: true, advice };
  if (code === ERROR && /no such column|has no column/.test(String(message)))
    return { code: "STORE_REJECTED", notApplied: true, advice: OTHER_LAYOUT };
  if (code === IOERR || code === FULL) return { code: "STORE_UNAVAILABLE", notApplied: false };
  if (code === NOTADB) return { code: "STORE_REJECTED", notApplied: true, advice: NO_DATABASE };
  return { code: "STORE_UNAVAILABLE", notApplied: true };
}

function codeOf(name: string): number | undefined {
  return (CODES as Readonly<Record<string, number>>)[/^SQLITE_([A-Z]+)/.exec(name)?.[1] ?? ""];
}
