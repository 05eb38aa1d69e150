import { hostname } from "node:os";
import type { Clock } from "../time/clock.ts";

/** Returns a label that names the host and the process for a person. It proves nothing: two candidates may share one. */
export function defaultCandidateId(clock: Clock): string {
  // Names must not have control characters or lone surrogates. A host name may be long, so it is cut.
  const printable = hostname()
    .toWellFormed()
    .replace(/\p{Cc}/gu, "");
  const host = [...printable].slice(0, 40).join("");
  return `${host}-${process.pid}-${clock.randomUuid().slice(0, 8)}`;
}
