import type { SeededRandom } from "@leasehold/core/testing";
import type { World } from "../world.ts";
import { breaking } from "../mishaps/break.ts";
import { clockFailover } from "../mishaps/clock-failover.ts";
import { coldCall } from "../mishaps/cold-call.ts";
import { connectionFault } from "../mishaps/connection-fault.ts";
import { corruption } from "../mishaps/corruption.ts";
import { crash } from "../mishaps/crash.ts";
import { freeze } from "../mishaps/freeze.ts";
import { goCandidate } from "../mishaps/go-candidate.ts";
import { lastRenewal } from "../mishaps/last-renewal.ts";
import { leaderElection } from "../mishaps/leader-election.ts";
import { memberFault } from "../mishaps/member-fault.ts";
import type { MishapKind, Scope } from "./fault.ts";
import { outage } from "../mishaps/outage.ts";
import { partition } from "../mishaps/partition.ts";
import { replacement } from "../mishaps/replacement.ts";
import { replicaLoss } from "../mishaps/replica-loss.ts";
import { resign } from "../mishaps/resign.ts";
import { revocation } from "../mishaps/revocation.ts";
import { serverLoss } from "../mishaps/server-loss.ts";
import { stop } from "../mishaps/stop.ts";
import { storeClockStep } from "../mishaps/store-clock-step.ts";
import { tick } from "../mishaps/tick.ts";
import { transfer } from "../mishaps/transfer.ts";
import { watchTrouble } from "../mishaps/watch-trouble.ts";
import { wallClockJump } from "../mishaps/wall-clock-jump.ts";

const KINDS = {
  freeze,
  "wall-clock-jump": wallClockJump,
  crash,
  partition,
  "last-renewal": lastRenewal,
  outage,
  stop,
  resign,
  break: breaking,
  transfer,
  corruption,
  "store-clock-step": storeClockStep,
  "clock-failover": clockFailover,
  "replica-loss": replicaLoss,
  "cold-call": coldCall,
  tick,
  "member-fault": memberFault,
  replacement,
  "leader-election": leaderElection,
  revocation,
  "watch-trouble": watchTrouble,
  "go-candidate": goCandidate,
  "server-loss": serverLoss,
  "connection-fault": connectionFault,
};

type Drawn = ReturnType<(typeof KINDS)[keyof typeof KINDS]["draw"]>;

/** A planned fault of a run: plain data, drawn beforehand. */
export type Mishap = { readonly atMs: number } & Drawn;

/** Draws the faults of a run, in the order of time. */
export function drawMishaps(random: SeededRandom, scope: Scope & { readonly calmAtMs: number }): Mishap[] {
  const fitting = Object.entries(KINDS).filter(([, kind]) => kind.fits?.(scope) ?? true);
  const names = fitting.flatMap(([name, { share }]) => Array<string>(share).fill(name)) as [Mishap["kind"]];
  const draw = (): Mishap => {
    const atMs = random.between(0, scope.calmAtMs * 0.95);
    return { atMs, ...KINDS[random.pick(names)].draw(random, scope) };
  };
  const count = random.pick([1, 2, 3, 4, 6, 9]);
  return Array.from({ length: count }, draw).toSorted((one, other) => one.atMs - other.atMs);
}

/** Carries out a fault in the world, unless the calm has begun. */
export function befall(mishap: Mishap, world: World): void {
  if (world.calm) return;
  world.count(mishap.kind);
  (KINDS[mishap.kind] as MishapKind<Mishap>).befall(mishap, world);
}
