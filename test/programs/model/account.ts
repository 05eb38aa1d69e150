/** The leader at the end, and the units of the lease's validity that have passed by its own clock: `VALID <who> <age> <end>`. */
const VALID = /^VALID (\w) (\d+) (\d+)$/;
/** By how much the clocks of A and B have advanced, each as a holder's and as a rival's: `TICK 90 100 90 100`. */
const TICK = /^TICK (\d+) (\d+) (\d+) (\d+)$/;
/** An event of the store: `STORE fails over`. */
const STORE = /^STORE (.+)$/;
const STEP = /^STEP (\w) (.+)$/;

/** Describes a run of the model for a person: each step with its candidate and its tick. */
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
    const [, befallen] = STORE.exec(line) ?? [];
    if (befallen !== undefined) return `  -- the store ${befallen} --`;
    const [, actor, text = ""] = STEP.exec(line) ?? [];
    if (text === "its acquisition is stored") term += 1;
    return `  ${actor}: ${text}${text === "its acquisition is stored" ? `, as term ${term}` : ""}`;
  });
}

function clocks([holderA = 0, rivalA = 0, holderB = 0, rivalB = 0]: readonly number[]): string {
  const suspended = rivalA === 0 ? "A" : rivalB === 0 ? "B" : undefined;
  const holder = Math.max(holderA, holderB);
  const rival = Math.max(rivalA, rivalB);
  const others = `a holder's clock goes on by ${holder} units, a rival's by ${rival}`;
  return suspended === undefined ? others : `${suspended} is suspended; ${others}`;
}
