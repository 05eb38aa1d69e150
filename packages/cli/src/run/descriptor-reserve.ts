import { closeSync, openSync } from "node:fs";

/** This process, or the system, can open no more files, or has no memory. */
const EXHAUSTED: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
/** To read the table of processes takes one at a time. */
const SIZE = 4;

const held: number[] = [];

/** Keeps some file descriptors of this process free for {@link withReserve}. */
export function fillReserve(): void {
  try {
    while (held.length < SIZE) held.push(openSync("/dev/null", "r"));
  } catch {
    // There are none left.
  }
}

/** Reports whether a file could not be opened for want of descriptors or memory, which says nothing of the file. */
export function isExhausted(error: unknown): boolean {
  return EXHAUSTED.has((error as NodeJS.ErrnoException).code ?? "");
}

/** Calls what opens files; if no more can be opened, once again with the file descriptors that were kept for it. */
export function withReserve<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!isExhausted(error) || held.length === 0) throw error;
    for (const fd of held.splice(0)) closeSync(fd);
    try {
      return open();
    } finally {
      fillReserve();
    }
  }
}
