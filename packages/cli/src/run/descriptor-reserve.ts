import { closeSync, openSync } from "node:fs";

/** The error codes if this process or the system can open no more files, or has no memory. */
const EXHAUSTED: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
/** The number of descriptors in the reserve. Reading the table of processes needs one at a time. */
const SIZE = 4;

const held: number[] = [];

/** Reports whether an error means a lack of descriptors or memory. Such an error says nothing about the file. */
export function isExhausted(error: unknown): boolean {
  return EXHAUSTED.has((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Calls `open`, and fills the reserve. If no more files can be opened, frees the reserve and calls `open` once more. The
 * first call, for the start time of CMD, fills the reserve for the searches at its end.
 */
export function withReserve<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!isExhausted(error)) throw error;
    for (const fd of held.splice(0)) closeSync(fd);
    return open();
  } finally {
    fillReserve();
  }
}

function fillReserve(): void {
  try {
    while (held.length < SIZE) held.push(openSync("/dev/null", "r"));
  } catch {
    // No more descriptors are available.
  }
}
