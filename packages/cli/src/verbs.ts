import type { Verb } from "./verb.ts";

/** A verb with its summary. Its module is loaded only on request, so that `run` starts fast and stays small. */
interface VerbEntry {
  readonly summary: string;
  readonly load: () => Promise<{ readonly verb: Verb }>;
}

function verb(summary: string, load: VerbEntry["load"]): VerbEntry {
  return { summary, load };
}

/** Every verb, in the order of the help. */
export const VERBS: Readonly<Record<string, VerbEntry>> = {
  run: verb("Run a command only while this candidate leads", async () => await import("./verbs/run.ts")),
  serve: verb("The sidecar: campaign for a program that asks over HTTP who leads", async () => await import("./verbs/serve.ts")),
  vote: verb("One of the servers that vote, and no candidate", async () => await import("./verbs/vote.ts")),
  status: verb("Who leads, and how old the lease is", async () => await import("./verbs/status.ts")),
  list: verb("Every election of a store", async () => await import("./verbs/list.ts")),
  watch: verb("A line for each change of who leads", async () => await import("./verbs/watch.ts")),
  transfer: verb("Transfer an election to one candidate", async () => await import("./verbs/transfer.ts")),
  break: verb("Force a re-election", async () => await import("./verbs/break.ts")),
  fleet: verb(
    "Who holds which shard of a fleet; release a shard, evict a member, reset the plan",
    async () => await import("./verbs/fleet.ts"),
  ),
  pause: verb("Keep every candidate from leading, until resume", async () => await import("./verbs/pause.ts")),
  resume: verb("Lift a pause", async () => await import("./verbs/resume.ts")),
  repair: verb("Put an election right whose record was lost or restored", async () => await import("./verbs/repair.ts")),
  migrate: verb("Create the tables of a SQL store", async () => await import("./verbs/migrate.ts")),
  occurrences: verb(
    "What was done of a schedule, what runs, and what is open again",
    async () => await import("./verbs/occurrences.ts"),
  ),
  heal: verb("Take in a member of a quorum that was emptied or restored", async () => await import("./verbs/heal.ts")),
  completion: verb(
    "The script by which bash, zsh or fish completes this command",
    async () => await import("./verbs/completion.ts"),
  ),
  timing: verb("The worst cases of a lease, before anything is deployed", async () => await import("./verbs/timing.ts")),
  doctor: verb("What a configuration lacks, and what to do about it", async () => await import("./verbs/doctor.ts")),
};
