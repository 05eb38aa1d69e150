export { AlreadyClaimedError } from "./already-claimed-error.ts";
export type { CatchUp, Occurrence } from "@leasehold/core/provider";
export type { FunctionLeadership } from "./function-leadership.ts";
export type { LeaderHandler } from "./gate.ts";
export { lastRun, type LastRun, type LastRunOptions } from "@leasehold/core";
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
