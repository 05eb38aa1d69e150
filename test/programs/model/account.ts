/** Who leads at the end, and since how many units of the lease's validity by its own clock: `VALID <who> <age> <end>`. */
const VALID = /^VALID (\w) (\d+) (\d+)$/;
/** By how much the clocks of A and B have gone on, each as a holder's and as a contender's: `TICK 90 100 90 100`. */
const TICK = /^TICK (\d+) (\d+) (\d+) (\d+)$/;
const STEP = /^STEP (\w) (.+)$/;

/** Tells a run of the model that a search has found so that a person can follow it: who did what, in which tick. */
export function account(run: readonly string[]): readonly string[] {
  let tick = 0;
  let term = 0;
  return run.map((line) => {
    const rates = TICK.exec(line)?.slice(1).map(Number);
    if (rates) {
      tick += 1;
      return `  -- tick ${tick}: ${clocks(rates)} --`;
    }
    const [, who, age, end] = VALID.exec(line) ?? [];
    if (who !== undefined) return `  ${who} is valid: ${age} of its ${end} units have passed by its clock`;
    const [, actor, text = ""] = STEP.exec(line) ?? [];
    if (text === "its acquisition is stored") term += 1;
    return `  ${actor}: ${text}${text === "its acquisition is stored" ? `, as term ${term}` : ""}`;
  });
}

function clocks([holderA = 0, contenderA = 0, holderB = 0, contenderB = 0]: readonly number[]): string {
  const suspended = contenderA === 0 ? "A" : contenderB === 0 ? "B" : undefined;
  const holder = Math.max(holderA, holderB);
  const contender = Math.max(contenderA, contenderB);
  const others = `a holder's clock goes on by ${holder} units, a contender's by ${contender}`;
  return suspended === undefined ? others : `${suspended} is suspended; ${others}`;
}
