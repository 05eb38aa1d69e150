import { VoterState } from "../src/voter-state.ts";
import type { StoredVoterState } from "../src/voter-state-codec.ts";
import type { Break, Elect, Lead, Release, Transfer } from "../src/messages.ts";

export const LEASE = 1_000;
export const EMPTY: StoredVoterState = { floor: 0, clockFloor: 0, isFresh: false, elections: {} };
const ABOUT = { election: "e", candidateId: "c", leaseDurationMs: LEASE };
export const elect = (term: number, termId: string, trial = false, candidateId = "c"): Elect => ({
  ...{ kind: "ELECT", ...ABOUT, candidateId, trial, term, termId },
  ...{ heard: { term: 0, number: 0 }, hasLed: false, hasFailed: false, holdMs: 0, claimMs: 0 },
});
export const lead = (term: number, number: number, leaseDurationMs = LEASE): Lead => ({
  ...{ kind: "LEAD", ...ABOUT, term, termId: `t${term}`, number, leaseDurationMs },
});
export const release = (term: number, number: number, holdMs = 0): Release => ({
  ...{ kind: "RELEASE", election: "e", term, termId: `t${term}`, number, leaseDurationMs: LEASE, holdMs },
});
export const breakOf = (term: number, immediate = false, number = 1): Break => ({
  ...{ kind: "BREAK", election: "e", term, id: `break ${number}`, reason: "why not", immediate },
});
export const transfer = (term: number, candidateId: string, afterBreak = false, timeoutMs = 10_000): Transfer => ({
  ...{ kind: "TRANSFER", election: "e", term, id: `to ${candidateId}`, candidateId, timeoutMs, afterBreak },
});
/** The same voter, started again with the state that it has kept. */
export const again = (ballots: VoterState, nowMs: number): VoterState => new VoterState(structuredClone(ballots.kept), nowMs);
