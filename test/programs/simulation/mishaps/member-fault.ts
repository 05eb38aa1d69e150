import type { MemberFault as How } from "../stores/simulated-store.ts";
import { isQuorum } from "../stores/stores.ts";
import { drawSpanMs, type MishapKind } from "../faults/fault.ts";

/** One of the members fails, or forgets. */
export interface MemberFault {
  readonly kind: "member-fault";
  /** The member, as a number from 0 to 1. */
  readonly which: number;
  readonly how: How;
  readonly forMs: number;
}

export const memberFault: MishapKind<MemberFault> = {
  share: 24,
  fits: ({ store }) => isQuorum(store),
  draw: (random, scope) => ({
    kind: "member-fault",
    which: random.next(),
    how: random.pick(["down", "refuses", "hangs", "lags", "wiped", "rolled back", "rolled back"]),
    forMs: drawSpanMs(random, scope),
  }),
  befall: ({ which, how, forMs }, world) => {
    const { members } = world.store;
    const member = Math.floor(which * (members?.count ?? 0));
    if (!members?.fail(member, how)) return;
    world.note("service", `member ${member} is ${how}`);
    world.beforeCalm(forMs, () => members.mend(member));
  },
};
