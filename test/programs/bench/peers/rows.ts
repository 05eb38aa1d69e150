import { short } from "../table.ts";
import { summarize } from "../statistics.ts";
import { AWAY_LEASES, FAULT_NAMES, FAULTS, type Episode, type FaultName } from "./faults.ts";
import { LEASE_MS, type Report } from "./measured.ts";

/** A row of the table: one figure of every library. */
export interface Row {
  readonly measure: string;
  readonly unit: string;
  /** True if it is a ratio to a measurement of the same run, and so is valid on other machines. */
  readonly isRatio?: boolean;
  /** True if it depends on the fault's time between two renewals. */
  readonly isByChance?: boolean;
  /** The samples. An undefined sample did not happen; see `never`. A figure that was not measured has no samples. */
  readonly samples: (report: Report) => ReadonlyArray<number | undefined>;
  /** The meaning of an undefined sample. */
  readonly never?: string;
}

/** A shorter overlap cannot be detected, because candidates ask every 5 ms. */
const OVERLAP_S = 0.005;

const ofFault = (fault: FaultName, figure: (episode: Episode) => number | undefined): Row["samples"] => {
  return ({ crews }) => crews.map(({ episodes }) => figure(episodes[fault]));
};
const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000);

export const ROWS: readonly Row[] = [
  { measure: "acquire, a new election", unit: "× one write", isRatio: true, samples: (of) => of.acquisitions.fresh },
  { measure: "acquire, a vacant one", unit: "× one write", isRatio: true, samples: (of) => of.acquisitions.vacant },
  { measure: "leader", unit: "requests an hour", samples: (of) => [mean(of.crews.map((crew) => crew.requestsPerHour.leader))] },
  { measure: "standby", unit: "requests an hour", samples: (of) => [mean(of.crews.map((crew) => crew.requestsPerHour.standby))] },
  {
    measure: "polite stop, to the next leader",
    unit: "s",
    samples: ofFault("stop", ({ takeoverMs }) => seconds(takeoverMs)),
    never: "nobody",
  },
  {
    measure: "crash, to the next leader",
    unit: "s",
    isByChance: true,
    samples: ofFault("crash", ({ takeoverMs }) => seconds(takeoverMs)),
    never: "nobody",
  },
  {
    measure: "the same, from the last renewal",
    unit: "leases",
    isRatio: true,
    samples: ofFault("crash", ({ sinceRenewalMs }) => (sinceRenewalMs === undefined ? undefined : sinceRenewalMs / LEASE_MS)),
    never: "nobody",
  },
  ...FAULT_NAMES.map((fault) => ({
    measure: `two leaders: ${FAULTS[fault].title}`,
    unit: "s",
    samples: ofFault(fault, ({ overlapMs }) => (overlapMs / 1_000 < OVERLAP_S ? 0 : overlapMs / 1_000)),
  })),
  {
    measure: "thawed: the first statement believes",
    unit: "of all",
    isRatio: true,
    samples: (of) => [mean(of.crews.map(({ episodes }) => (episodes.freeze.believedFirst ? 1 : 0)))],
  },
  {
    measure: "cut off: gives up after",
    unit: "s",
    samples: ofFault("cut", ({ gaveUpMs }) => seconds(gaveUpMs)),
    never: "never",
  },
  {
    measure: "outage: gives up after",
    unit: "s",
    samples: ofFault("outage", ({ gaveUpMs }) => seconds(gaveUpMs)),
    never: "never",
  },
  {
    measure: "outage: a leader again after",
    unit: "s",
    samples: ofFault("outage", ({ takeoverMs }) => seconds(takeoverMs)),
    never: "nobody",
  },
];

/** Returns `median [worst]`, and how often it did not happen. */
export function cellOf(row: Row, report: Report): string {
  const all = row.samples(report);
  const known = knownOf(row, report);
  const missing = all.length - known.length;
  const told = missing === 0 ? [] : [missing === all.length ? (row.never ?? "") : `${row.never} ${missing} of ${all.length}`];
  if (known.length === 0) return told.join();
  const { median, max } = summarize(known);
  return [max === median ? short(median) : `${short(median)} [${short(max)}]`, ...told].join(", ");
}

/** Returns the samples that happened. */
export function knownOf({ samples }: Row, report: Report): number[] {
  return samples(report).filter((sample) => sample !== undefined);
}

/** Longer than any wait, in seconds. */
export const AWAY_S: number = (AWAY_LEASES * LEASE_MS) / 1_000;

function mean(samples: readonly number[]): number {
  return samples.reduce((sum, each) => sum + each, 0) / samples.length;
}
