import { randomUUID } from "node:crypto";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import type { CandidateRequests, Competitor } from "./contender.ts";
import { contenderOf, type ContenderName } from "./contenders.ts";
import { SERVICES } from "./services.ts";

/** The network's delay in each direction. */
const ONE_WAY_MS = 20;
const TURNS = 15;

/** How many times as long an acquisition without rivals takes as one conditional write by the service's own client. */
export interface Acquisitions {
  /** For an election that did not exist before. */
  readonly fresh: readonly number[];
  /** For an election that was released before. */
  readonly vacant: readonly number[];
}

/** Measures in this process, at 40 ms a round trip. */
export async function measureAcquisitions(contender: ContenderName, port: number, leaseMs: number): Promise<Acquisitions> {
  const { service, load } = contenderOf(contender);
  await using proxy = await startTcpFaultProxy(port);
  const adapter = await load();
  const competitor = await adapter.connect(proxy.host, leaseMs);
  await using writer = await SERVICES[service].writer(proxy.host);
  const times = { write: [] as number[], fresh: [] as number[], vacant: [] as number[] };
  const time = async (what: keyof typeof times, act: () => Promise<void>): Promise<void> => {
    const fromMs = performance.now();
    await act();
    times[what].push(performance.now() - fromMs);
  };
  // The turns before 0 make the connections, containers and compiled code.
  for (let turn = -2; turn < TURNS; turn += 1) {
    if (turn === 0) {
      proxy.delay(ONE_WAY_MS);
      for (const samples of Object.values(times)) samples.length = 0;
    }
    const election = `bench-${randomUUID()}`;
    await time("write", () => writer.write());
    for (const what of ["fresh", "vacant"] as const) {
      let candidacy: CandidateRequests | undefined;
      await time(what, async () => void (candidacy = await won(competitor, election)));
      await candidacy?.stop();
    }
  }
  await competitor.close();
  const ratios = (what: "fresh" | "vacant"): number[] => times[what].map((ms, turn) => ms / times.write[turn]!);
  return { fresh: ratios("fresh"), vacant: ratios("vacant") };
}

/** Resolves once it leads. */
async function won(competitor: Competitor, election: string): Promise<CandidateRequests> {
  const leads = Promise.withResolvers<void>();
  const candidacy = competitor.campaign(election, () => {
    if (candidacy.leads()) leads.resolve();
  });
  await leads.promise;
  return candidacy;
}
