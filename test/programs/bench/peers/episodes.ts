import { setTimeout as delay } from "node:timers/promises";
import type { ContenderName } from "./contenders.ts";
import { Crew, type Member } from "./processes.ts";
import { FAULT_NAMES, FAULTS, type Episode, type FaultName } from "./faults.ts";

/** The requests of an hour, of one leader and of one standby. */
export interface Rates {
  readonly leader: number;
  readonly standby: number;
}

/** The results of one crew. */
export interface CrewReport {
  readonly requestsPerHour: Rates;
  readonly episodes: Readonly<Record<FaultName, Episode>>;
}

const COUNTED_MS = 60_000;
const HOUR_MS = 3_600_000;
/** After so many leases without exactly one leader, a crew is started again. */
const PATIENCE_LEASES = 2;

/** Measures a crew at rest, and then applies every fault to it, one after the other. */
export async function playFaults(contender: ContenderName, port: number, leaseMs: number): Promise<CrewReport> {
  await using crew = new Crew(contender, port, leaseMs);
  const first = await settled(crew, leaseMs);
  const requestsPerHour = await counted(crew, first);
  const episodes: Partial<Record<FaultName, Episode>> = {};
  for (const fault of FAULT_NAMES) {
    const leader = await settled(crew, leaseMs);
    episodes[fault] = await FAULTS[fault].play(crew, leader, leaseMs);
  }
  return { requestsPerHour, episodes: episodes as Record<FaultName, Episode> };
}

/** Waits until one leads and one stands by, and then until some phase of their requests. */
async function settled(crew: Crew, leaseMs: number): Promise<Member> {
  for (;;) {
    while (crew.running.length < 2) await crew.join();
    const leader = await crew.oneLeader(PATIENCE_LEASES * leaseMs);
    if (leader) {
      await delay(leaseMs * (1 / 3 + Math.random() / 3));
      if (crew.leaders.length === 1 && leader.leads) return leader;
    } else {
      for (const member of crew.running) await member.kill();
    }
  }
}

async function counted(crew: Crew, leader: Member): Promise<Rates> {
  const standby = crew.running.find((member) => member !== leader);
  const before = [leader.requests, standby?.requests ?? 0];
  await delay(COUNTED_MS);
  const [ofLeader, ofStandby] = [leader.requests - before[0]!, (standby?.requests ?? 0) - before[1]!];
  return { leader: (ofLeader * HOUR_MS) / COUNTED_MS, standby: (ofStandby * HOUR_MS) / COUNTED_MS };
}
