import type { CandidatePlan } from "./candidate-plan.ts";
import { NO_EXTREMES } from "./extreme-options.ts";
import type { Mishap } from "./faults/faults.ts";
import type { Plan } from "./plan.ts";
import { simulate } from "./simulation.ts";
import { NO_TURNS } from "./turns.ts";
import type { NetworkFaults } from "./network-faults.ts";

/** Returns a smaller plan that breaks the same invariant. Nothing that is tried here can be left out of it. */
export async function shrink(plan: Plan): Promise<Plan> {
  const { violation } = await simulate(plan);
  if (!violation) throw new Error(`The run with seed ${plan.seed} breaks nothing.`);
  const stillBreaks = async (smaller: Plan): Promise<boolean> =>
    // An elector may refuse a candidate without the rest of its options.
    (await simulate(smaller).catch(() => undefined))?.violation?.invariant === violation.invariant;
  let smallest = plan;
  for (let before: Plan | undefined; before !== smallest;) {
    before = smallest;
    for (const make of smallerPlans(smallest)) {
      const smaller = make(smallest);
      if (smaller && (await stillBreaks(smaller))) smallest = smaller;
    }
  }
  return smallest;
}

type Step = (plan: Plan) => Plan | undefined;

/** Yields steps that each leave one thing out, or make it ordinary. */
function* smallerPlans(plan: Plan): Generator<Step> {
  for (const mishap of plan.mishaps) {
    yield ({ mishaps, ...rest }) => ({ ...rest, mishaps: mishaps.filter((other) => other !== mishap) });
  }
  for (let index = plan.candidates.length - 1; index >= 1; index -= 1) yield (now) => withoutCandidate(now, index);
  for (const name of Object.keys(plan.networkFaults) as Array<keyof NetworkFaults>) {
    yield ({ networkFaults, ...rest }) =>
      networkFaults[name] === 0 ? undefined : { ...rest, networkFaults: { ...networkFaults, [name]: 0 } };
  }
  const { leaseDurationMs } = plan.timing;
  const ordinary: CandidatePlan = {
    leaseDurationMs,
    way: "run",
    rate: 1,
    wallRate: 1,
    wallOffsetMs: 0,
    sleeps: false,
    expiry: undefined,
    releaseOnStop: true,
    options: NO_EXTREMES,
    livesWith: undefined,
    lodges: undefined,
    observes: false,
    ...NO_TURNS,
  };
  for (const index of plan.candidates.keys()) {
    for (const name of Object.keys(ordinary) as Array<keyof CandidatePlan>) {
      yield (now) => {
        const candidate = now.candidates[index];
        if (!candidate || candidate[name] === ordinary[name]) return undefined;
        return { ...now, candidates: now.candidates.with(index, { ...candidate, [name]: ordinary[name] }) };
      };
    }
  }
  yield (now) => (now.serviceRate === 1 ? undefined : { ...now, serviceRate: 1 });
  yield (now) => (now.controlPlane === "well" ? undefined : { ...now, controlPlane: "well" });
  yield (now) => (now.twins ? { ...now, twins: false } : undefined);
}

function withoutCandidate(plan: Plan, index: number): Plan | undefined {
  if (index !== plan.candidates.length - 1) return undefined;
  const befalls = (mishap: Mishap): boolean =>
    ("who" in mishap && mishap.who === index) || (mishap.kind === "transfer" && mishap.to === index);
  return {
    ...plan,
    candidates: plan.candidates.slice(0, index),
    mishaps: plan.mishaps.filter((mishap) => !befalls(mishap)),
  };
}
