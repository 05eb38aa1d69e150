import { ProcessClock } from "@leasehold/core/testing";
import { KubernetesWorld } from "../../../packages/kubernetes/test/kubernetes-world.ts";

const MINUTE_MS = 60_000;

interface Candidate {
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  readonly leads: () => boolean;
}

type Join = (world: KubernetesWorld, name: string, process: ProcessClock) => Candidate;

/**
 * client-go is for Go. This plays the rules of its leader election on a simulated API server, in virtual time. Returns how many
 * lead at once, by those rules and with Leasehold.
 */
export async function leadersByLease(): Promise<{ readonly theirs: number; readonly ours: number }> {
  return {
    theirs: await leadersAtOnce((world, name, process) => {
      const candidate = world.go(name, process);
      return { run: (signal) => candidate.run(signal), leads: () => candidate.isLeading };
    }),
    ours: await leadersAtOnce((world, name, process) => {
      const elector = world.elector(name, { process });
      return { run: (signal) => elector.run(undefined, { signal }), leads: () => elector.isLeader };
    }),
  };
}

/** Freezes a leader until its rival leads. Returns how many of the two believe in the first statement after the freeze that they lead. */
async function leadersAtOnce(join: Join): Promise<number> {
  const world = new KubernetesWorld();
  const frozen = new ProcessClock(world.clock);
  const stop = new AbortController();
  const leader = join(world, "leader", frozen);
  const rival = join(world, "rival", new ProcessClock(world.clock));
  const runs = [leader.run(stop.signal)];
  await world.clock.advance(MINUTE_MS);
  runs.push(rival.run(stop.signal));
  await world.clock.advance(MINUTE_MS);
  frozen.pause();
  let believers = 0;
  frozen.deliver(() => {
    believers = [leader, rival].filter((each) => each.leads()).length;
  });
  await world.clock.advance(MINUTE_MS);
  frozen.resume();
  await world.clock.advance(0);
  stop.abort();
  await world.clock.runUntil(Promise.allSettled(runs));
  return believers;
}
