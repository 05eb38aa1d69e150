import { setWallClockBack } from "./shifted-date.ts";

/** The settings of a host at its start. */
export interface HostSettings {
  /** The time by which its wall clock is behind. */
  readonly behindMs: number;
  /** The SQLite file of all hosts. */
  readonly file: string;
}

/** The work of a tick has ended. */
export interface TickDone {
  readonly adapter: string;
  readonly scheduledMs: number;
}

const { behindMs, file } = JSON.parse(process.argv[2] ?? "{}") as HostSettings;
setWallClockBack(behindMs);
process.on("disconnect", () => process.exit());

// Import it here, because the clock has to be set before any module reads it.
const { runJobs } = await import("./jobs.ts");
await runJobs(file);
