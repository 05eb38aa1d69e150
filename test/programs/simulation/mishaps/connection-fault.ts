import type { ConnectionFault } from "../stores/simulated-store.ts";
import { drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** The open connections of a process, or of all, fail until they are closed. New connections work. */
export interface ConnectionLoss {
  readonly kind: "connection-fault";
  readonly how: ConnectionFault;
  /** The process. Undefined for all processes, as after a switchover to another server. */
  readonly who: Victim | undefined;
}

export const connectionFault: MishapKind<ConnectionLoss> = {
  share: 2,
  fits: ({ store }) => store === "records with a clock" || store === "redis",
  draw: (random, scope) => ({
    kind: "connection-fault",
    how: random.pick(["read-only", "read-only", "dead"]),
    who: random.chance(0.5) ? drawVictim(random, scope) : undefined,
  }),
  befall: ({ how, who }, world) => {
    const victim = who === undefined ? undefined : world.victim(who);
    if (who !== undefined && !victim) return;
    world.note(victim?.process.id ?? "service", `has only connections that are ${how} until they are closed`);
    world.store.connections?.befall(how, victim?.clock);
  },
};
