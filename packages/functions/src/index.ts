export { AlreadyClaimedError } from "./already-claimed-error.ts";
export type { FunctionLeadership } from "./function-leadership.ts";
export type { LeaderHandler } from "./gate.ts";
export { lastRun } from "@leasehold/core";
export type { CatchUp, Occurrence, LastRun, LastRunOptions } from "@leasehold/core/occurrences";
export type { ClaimedOccurrence } from "./occurrence.ts";
export { onlyAsLeader, type AnyPlatformOptions } from "./only-as-leader.ts";
export type {
  ExclusiveOptions,
  GateOptions,
  NotElected,
  OncePerTickOptions,
  OnlyAsLeaderOptions,
  SkipReason,
  StickyOptions,
} from "./options.ts";
