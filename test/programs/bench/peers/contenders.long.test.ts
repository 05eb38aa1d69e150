import { randomUUID } from "node:crypto";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { describe, expect, test } from "vitest";
import type { CandidateRequests, Competitor } from "./contender.ts";
import { CONTENDER_NAMES, contenderOf } from "./contenders.ts";
import { SERVICES, type ServiceName } from "./services.ts";

/**
 * Azure's shortest lease. On other services a stall of 3 s does not cost a leader this lease, and `dynamodb-lock-client` waits
 * for all of it.
 */
const leaseMs = (service: ServiceName): number => (service === "azure" ? 15_000 : 6_000);

describe.each(CONTENDER_NAMES)("the adapter of %s", async (name) => {
  const { service, load } = contenderOf(name);
  const { missing, start, writer } = SERVICES[service];

  test.skipIf(await isMissing(missing()))("leads, says so, gives up, and another one takes over", async () => {
    await using running = await start();
    const host = `127.0.0.1:${running.port}`;
    await using bare = await writer(host);
    await bare.write();
    const adapter = await load();
    const [one, other] = await Promise.all([adapter.connect(host, leaseMs(service)), adapter.connect(host, leaseMs(service))]);
    const election = `bench-${randomUUID()}`;

    const leader = new Campaign(one, election);
    await leader.leads;
    const standby = new Campaign(other, election);
    expect([leader.candidacy.leads(), standby.candidacy.leads()]).toEqual([true, false]);
    await leader.candidacy.stop();
    expect(leader.candidacy.leads()).toBe(false);
    await standby.leads;

    await standby.candidacy.stop();
    expect(standby.candidacy.leads()).toBe(false);
    await Promise.all([one.close(), other.close()]);
  });
});

class Campaign {
  readonly candidacy: CandidateRequests;
  readonly leads: Promise<void>;

  constructor(competitor: Competitor, election: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.leads = promise;
    this.candidacy = competitor.campaign(election, () => this.candidacy.leads() && resolve());
  }
}
