import { SimulatedVoting, type Loss } from "../stores/voting-store.ts";
import { drawSpanMs, type MishapKind } from "../faults/fault.ts";

/** One of the voting servers is started again, perhaps without its disk or with an older one; or they are split. */
export interface ServerLoss {
  readonly kind: "server-loss";
  /** The server, as a number from 0 to 1. */
  readonly which: number;
  readonly what: Loss | "split";
  readonly forMs: number;
}

export const serverLoss: MishapKind<ServerLoss> = {
  share: 6,
  fits: ({ store }) => store === "voting",
  draw: (random, scope) => ({
    kind: "server-loss",
    which: random.next(),
    what: random.pick(["none", "wiped", "older", "split", "split"]),
    forMs: drawSpanMs(random, scope),
  }),
  befall: ({ which, what, forMs }, world) => {
    const { store } = world;
    if (!(store instanceof SimulatedVoting)) return;
    const names = store.names;
    const name = names[Math.floor(which * names.length)] as string;
    if (what === "split") {
      world.note("servers", `are split for ${Math.round(forMs)} ms`);
      store.split(new Map(names.map((each) => [each, Math.floor(world.random.next() * 2)])), forMs);
      world.beforeCalm(forMs, () => store.heal());
      return;
    }
    const clock = store.clockOf(name);
    const process = [...world.processes].find((each) => each.clock === clock);
    const dwellers = process ? world.dwellers(process) : [];
    if (!store.stop(name, what)) return;
    world.note(`server ${name}`, `is started again${what === "none" ? "" : ` with a disk that is ${what}`}`);
    world.beforeCalm(world.random.chance(0.5) ? 0 : forMs, () => {
      for (const { seat, id } of dwellers) world.enter(seat, id);
    });
  },
};
