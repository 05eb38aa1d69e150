import { hostname } from "node:os";
import type { Clock } from "../time/clock.ts";

/** `<host>-<pid>-<random>`: a label that tells a person where to look. It proves nothing; two candidates may share one. */
export function defaultCandidateId(clock: Clock): string {
  // Control characters and half characters are not for names; host names are long at times.
  const host = [
    ...hostname()
      .toWellFormed()
      .replace(/\p{Cc}/gu, ""),
  ]
    .slice(0, 40)
    .join("");
  return `${host}-${process.pid}-${clock.randomUuid().slice(0, 8)}`;
}
