import { means, OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";
import { ReplacedFileError } from "./sqlite-files.ts";

const ALLOWED = " The file's folder must exist, and this process must be allowed to write to it.";
const NO_DATABASE = " What is there is something else, which stays as it is: give the store another path.";
/** The failed write may be the last one of a commit. SQLite may then have applied the commit. */
const DISK_FAILED: Meaning = { code: "STORE_UNAVAILABLE", notApplied: false };

/** The meanings of SQLite's primary result codes, by name and number. https://www.sqlite.org/rescode.html */
const MEANINGS: ReadonlyArray<readonly [name: string, code: number, Meaning]> = [
  ["PERM", 3, means("STORE_DENIED", ALLOWED)],
  ["BUSY", 5, means("STORE_CONFLICT")],
  ["LOCKED", 6, means("STORE_CONFLICT")],
  ["READONLY", 8, means("STORE_DENIED", `${ALLOWED} A handle must not be opened as read-only.`)],
  ["IOERR", 10, DISK_FAILED],
  ["FULL", 13, DISK_FAILED],
  ["CANTOPEN", 14, means("STORE_MISSING", ALLOWED)],
  ["AUTH", 23, means("STORE_DENIED", ALLOWED)],
  ["NOTADB", 26, means("STORE_REJECTED", NO_DATABASE)],
];

/** Returns the meaning of an error of `node:sqlite`. A statement that fails has changed nothing, except after an error of the disk. */
export function sqliteMeaning(error: unknown): Meaning | undefined {
  if (error instanceof ReplacedFileError) return means("STORE_UNAVAILABLE", "");
  const { errcode, code, message } = (error ?? {}) as Partial<Record<"errcode" | "code" | "message", unknown>>;
  // The low byte of the extended code is the primary code. Other libraries give the name of the code instead.
  const number = typeof errcode === "number" ? errcode & 0xff : undefined;
  const name = /^SQLITE_([A-Z]+)/.exec(String(code))?.[1];
  if (number === undefined && name === undefined) return undefined;
  if (/no such column|has no column/.test(String(message))) return means("STORE_REJECTED", OTHER_LAYOUT);
  const [, , known = means("STORE_UNAVAILABLE")] = MEANINGS.find((one) => one[0] === name || one[1] === number) ?? [];
  return known;
}
