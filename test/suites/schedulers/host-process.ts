import { setWallClockBack } from "./shifted-date.ts";

/** What a host is told at its start. */
export interface HostSettings {
  /** By how much its wall clock is behind. */
  readonly behindMs: number;
  /** The SQLite file of all hosts. */
  readonly file: string;
}

/** The work of a tick has come to its end. */
export interface TickDone {
  readonly adapter: string;
  readonly scheduledMs: number;
}

const { behindMs, file } = JSON.parse(process.argv[2] ?? "{}") as HostSettings;
setWallClockBack(behindMs);
process.on("disconnect", () => process.exit());

// Only now: the clock is set before anything has looked at it.
const { runJobs } = await import("./jobs.ts");
await runJobs(file);
