import type { Verb } from "./verb.ts";

/** A verb with its name and summary. Its module is loaded only on request, so that `run` starts fast and stays small. */
interface VerbEntry {
  readonly summary: string;
  readonly load: () => Promise<{ readonly verb: Verb }>;
}

/** Every verb, in the order of the help. */
export const VERBS: Readonly<Record<string, VerbEntry>> = {
  run: {
    summary: "Run a command only while this candidate leads",
    load: async () => await import("./verbs/run.ts"),
  },
  serve: {
    summary: "The sidecar: campaign for a program that asks over HTTP who leads",
    load: async () => await import("./verbs/serve.ts"),
  },
  vote: {
    summary: "One of the servers that vote, and no candidate",
    load: async () => await import("./verbs/vote.ts"),
  },
  status: {
    summary: "Who leads, and how old the lease is",
    load: async () => await import("./verbs/status.ts"),
  },
  list: {
    summary: "Every election of a store",
    load: async () => await import("./verbs/list.ts"),
  },
  watch: {
    summary: "A line for each change of who leads",
    load: async () => await import("./verbs/watch.ts"),
  },
  transfer: {
    summary: "Transfer an election to one candidate",
    load: async () => await import("./verbs/transfer.ts"),
  },
  break: {
    summary: "Force a re-election",
    load: async () => await import("./verbs/break.ts"),
  },
  fleet: {
    summary: "Who holds which shard of a fleet; release a shard, evict a member, reset the plan",
    load: async () => await import("./verbs/fleet.ts"),
  },
  pause: {
    summary: "Keep every candidate from leading, until resume",
    load: async () => await import("./verbs/pause.ts"),
  },
  resume: {
    summary: "Lift a pause",
    load: async () => await import("./verbs/resume.ts"),
  },
  repair: {
    summary: "Put an election right whose record was lost or restored",
    load: async () => await import("./verbs/repair.ts"),
  },
  migrate: {
    summary: "Create the tables of a SQL store",
    load: async () => await import("./verbs/migrate.ts"),
  },
  occurrences: {
    summary: "What was done of a schedule, what runs, and what is open again",
    load: async () => await import("./verbs/occurrences.ts"),
  },
  heal: {
    summary: "Take in a member of a quorum that was emptied or restored",
    load: async () => await import("./verbs/heal.ts"),
  },
  completion: {
    summary: "The script by which bash, zsh or fish completes this command",
    load: async () => await import("./verbs/completion.ts"),
  },
  timing: {
    summary: "The worst cases of a lease, before anything is deployed",
    load: async () => await import("./verbs/timing.ts"),
  },
  doctor: {
    summary: "What a configuration lacks, and what to do about it",
    load: async () => await import("./verbs/doctor.ts"),
  },
};
