import type { MemberFault as How } from "../stores/simulated-store.ts";
import { isQuorum } from "../stores/stores.ts";
import { drawSpanMs, type MishapKind } from "./mishap.ts";

/** One of three members fails, or forgets. */
export interface MemberFault {
  readonly kind: "member-fault";
  readonly member: number;
  readonly how: How;
  readonly forMs: number;
}

export const memberFault: MishapKind<MemberFault> = {
  share: 24,
  fits: ({ store }) => isQuorum(store),
  draw: (random, scope) => ({
    kind: "member-fault",
    member: Math.floor(random.next() * 3),
    how: random.pick(["down", "refuses", "hangs", "lags", "wiped", "rolled back", "rolled back"]),
    forMs: drawSpanMs(random, scope),
  }),
  befall: ({ member, how, forMs }, world) => {
    const { members } = world.store;
    if (!members?.fail(member, how)) return;
    world.note("service", `member ${member} is ${how}`);
    world.beforeCalm(forMs, () => members.mend(member));
  },
};
