import { drawSpanMs, type MishapKind } from "../faults/fault.ts";

/** The record is corrupted for a while, in a visible way, and then restored. */
export interface Corruption {
  readonly kind: "corruption";
  readonly forMs: number;
}

export const corruption: MishapKind<Corruption> = {
  share: 1,
  fits: ({ store }) => store !== "voting",
  draw: (random, scope) => ({ kind: "corruption", forMs: drawSpanMs(random, scope) / 2 }),
  befall: ({ forMs }, world) => {
    const restore = world.referee.isSpoilt || world.store.isCutOff ? undefined : world.store.corrupt();
    if (!restore) return;
    world.referee.spoilt();
    world.note("service", `the record is spoilt for ${Math.round(forMs)} ms`);
    world.beforeCalm(forMs, () => {
      world.note("service", "the record is put back");
      restore();
      world.referee.putBack();
    });
  },
};
